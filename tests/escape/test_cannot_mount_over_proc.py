# SPDX-License-Identifier: Apache-2.0
"""Root inside cannot mount: not over /proc, not anywhere."""

import pytest

import attack

ATTACK = """
check(libc.mount(b"none", sys.argv[1].encode(), b"tmpfs", 0, None), "mount")
worked()
"""

BIND = """
os.mkdir("/tmp/osb-test-bind") if not os.path.exists("/tmp/osb-test-bind") else 0
MS_BIND = 4096
check(libc.mount(b"/proc", b"/tmp/osb-test-bind", None, MS_BIND, None), "bind")
worked()
"""

REMOUNT = """
MS_REMOUNT, MS_BIND = 32, 4096
check(libc.mount(None, b"/usr", None, MS_REMOUNT | MS_BIND, None), "remount")
worked()
"""

UMOUNT = """
MNT_DETACH = 2
check(libc.umount2(b"/proc", MNT_DETACH), "umount")
worked()
"""

FSOPEN = """
check(syscall(430, b"tmpfs", 0), "fsopen")
worked()
"""

OPEN_TREE = """
OPEN_TREE_CLONE = 1
check(syscall(428, -100, b"/", OPEN_TREE_CLONE), "open_tree")
worked()
"""


@pytest.mark.parametrize("place", ["/proc", "/tmp", "/usr", "/sys"])
def test_mount(daemon, place):
    assert attack.outside(ATTACK, [place], unshare=["--mount"]).worked
    assert attack.inside(daemon, ATTACK, [place]).refused


@pytest.mark.parametrize(
    "source", [BIND, UMOUNT, FSOPEN, OPEN_TREE],
    ids=["bind", "umount", "fsopen", "open_tree"],
)  # fmt: skip
def test_other_ways(daemon, source, tmp_path):
    control = attack.outside(
        "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)\n" + source,
        unshare=["--mount"],
    )
    assert control.worked, control
    got = attack.inside(daemon, source)
    assert got.refused, got


def test_remount_read_only_as_writable(daemon):
    prepare = (
        "check(libc.mount(b'/usr', b'/usr', None, 4096, None), 'bind')\n"
        "check(libc.mount(None, b'/usr', None, 4096 | 32 | 1, None), 'ro')\n"
    )
    control = attack.outside(prepare + REMOUNT, unshare=["--mount"])
    assert control.worked, control
    got = attack.inside(daemon, REMOUNT)
    assert got.refused, got
