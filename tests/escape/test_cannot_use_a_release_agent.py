# SPDX-License-Identifier: Apache-2.0
"""No cgroup's release_agent can be set: the host would run it as its root."""

import glob

import pytest

import attack

# Opening is the check; nothing is written.
ATTACK = """
opened, seen = [], 0
for folder, names, files in os.walk("/sys"):
    for name in ("release_agent", "notify_on_release"):
        if name in files:
            seen += 1
            try:
                os.close(os.open(folder + "/" + name, os.O_WRONLY))
                opened.append(folder + "/" + name)
            except OSError:
                pass
if opened:
    worked(" ".join(opened[:3]))
refused("%d seen, none opens" % seen)
"""

MOUNT = """
check(libc.mount(b"none", b"/mnt" if os.path.isdir("/mnt") else b"/tmp",
                 b"cgroup", 0, b"memory"), "mount")
worked()
"""


@pytest.mark.parametrize("user", ["root", "sandbox"])
@pytest.mark.parametrize("source", [ATTACK, MOUNT], ids=["open", "mount"])
def test_release_agent(daemon, source, user):
    got = attack.inside(daemon, source, user=user)
    assert got.refused, got
    if not glob.glob("/sys/fs/cgroup/*/release_agent"):
        pytest.skip("this host has no cgroup v1, and so no release_agent")
    control = attack.outside(source, unshare=["--mount"])
    assert control.worked, control
