# SPDX-License-Identifier: Apache-2.0
"""The limits' cgroups are out of reach from inside."""

import attack

MOUNT = """
check(libc.mount(b"none", b"/mnt" if os.path.isdir("/mnt") else b"/tmp",
                 b"cgroup2", 0, None), "mount")
worked()
"""

MOVE = """
moved = []
for folder, names, files in os.walk("/sys/fs/cgroup"):
    if "cgroup.procs" in files:
        try:
            os.close(os.open(folder + "/cgroup.procs", os.O_WRONLY))
            moved.append(folder)
        except OSError:
            pass
if moved:
    worked(moved[0])
refused("no cgroup.procs opens")
"""

PATHS = """
shown = open("/proc/self/cgroup").read()
if "opensandbox" in shown or "/../" in shown or sys.argv[1] in shown:
    worked(shown)
refused(shown)
"""


def test_mount(daemon):
    assert attack.outside(MOUNT, unshare=["--mount", "--cgroup"]).worked
    got = attack.inside(daemon, MOUNT)
    assert got.refused, got


def test_move(daemon):
    assert attack.outside(MOVE).worked
    got = attack.inside(daemon, MOVE)
    assert got.refused, got


def test_the_hosts_paths_do_not_show(daemon):
    got = attack.inside(daemon, PATHS, ["nothing-such"])
    assert got.refused, got
