# SPDX-License-Identifier: Apache-2.0
"""Capabilities inside: the documented set for root, none for others."""

import pytest

import attack

DOCUMENTED = {
    "CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5,
    "SETGID": 6, "SETUID": 7, "NET_BIND_SERVICE": 10, "SETFCAP": 31,
}  # fmt: skip
MASK = sum(1 << bit for bit in DOCUMENTED.values())

ATTACK = """
allowed = int(sys.argv[1])
over = {}
for line in open("/proc/self/status"):
    name, value = line.split(":")
    if name.startswith("Cap") and int(value, 16) & ~allowed:
        over[name] = value.strip()
if over:
    worked(str(over))
refused("none over")
"""


def test_root_holds_the_documented_set_only(daemon):
    assert attack.outside(ATTACK, [MASK]).worked
    got = attack.inside(daemon, ATTACK, [MASK])
    assert got.refused, got


@pytest.mark.parametrize("user", ["sandbox", "1234:1234"])
def test_other_users_hold_none(daemon, user):
    source = ATTACK.replace('name.startswith("Cap")',
                            'name in ("CapEff", "CapPrm", "CapInh", "CapAmb")')
    assert attack.outside(source, [0]).worked
    got = attack.inside(daemon, source, [0], user=user)
    assert got.refused, got


def test_what_package_managers_need_works(daemon):
    script = (
        "touch x && chown 1000:1000 x && chmod 4755 x && su sandbox -s /bin/sh "
        "-c 'id -u' 2>/dev/null; setpriv --reuid 1000 --regid 1000 "
        "--clear-groups id -u"
    )
    done = daemon.sh(script, "--user", "root")
    assert done.code == 0 and done.out.split()[-1] == "1000", done
    done = daemon.python(
        "import socket; s = socket.create_server(('127.0.0.1', 80))",
        "--user", "root",
    )  # fmt: skip
    assert done.code == 0, done


SETUID = """
import shutil
path = sys.argv[1] + "/osb-test-id"
shutil.copy("/usr/bin/id", path)
os.chown(path, 0, 0)
os.chmod(path, 0o4755)
done = subprocess.run([path, "-u"], capture_output=True, text=True,
                      user=1000, group=1000, extra_groups=[])
if done.stdout.strip() == "0":
    worked()
refused(done.stdout + done.stderr)
"""


def test_a_setuid_program_gains_nothing(daemon):
    prepare = "check(libc.mount(b'none', b'/mnt', b'tmpfs', 0, None), 'mount')\n"
    control = attack.outside(prepare + SETUID, ["/mnt"], unshare=["--mount"])
    assert control.worked, control
    got = attack.inside(daemon, SETUID, ["/workspace"])
    assert got.refused, got


# A file capability, which root inside may set, for CAP_SETUID, effective; the
# program says which uid it can become.
FILE_CAPABILITY = """
import shutil
path = sys.argv[1] + "/osb-test-python"
shutil.copy(os.path.realpath(sys.executable), path)
os.chmod(path, 0o755)
attempt(os.setxattr, path, "security.capability",
        struct.pack("<IIIII", 0x02000001, 1 << 7, 0, 0, 0))
done = subprocess.run(
    [path, "-c", "import os; os.setuid(0); print(os.getuid())"],
    capture_output=True, text=True, user=1000, group=1000, extra_groups=[])
if done.stdout.strip() == "0":
    worked()
refused("ran without: " + done.stderr[-100:])
"""


def test_a_file_capability_gains_nothing(daemon):
    prepare = "check(libc.mount(b'none', b'/mnt', b'tmpfs', 0, None), 'mount')\n"
    control = attack.outside(
        prepare + FILE_CAPABILITY, ["/mnt"], unshare=["--mount"]
    )
    assert control.worked, control
    got = attack.inside(daemon, FILE_CAPABILITY, ["/workspace"])
    assert got.refused and "ran without" in got.text, got
