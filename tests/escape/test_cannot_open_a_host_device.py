# SPDX-License-Identifier: Apache-2.0
"""Root inside cannot make or open a device of the host."""

import pytest

import attack

ATTACK = """
kind, major, minor = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
path = sys.argv[4] + "/osb-test-node"
mode = {"b": 0o60600, "c": 0o20600}[kind]
attempt(os.mknod, path, mode, os.makedev(major, minor))
fd = attempt(os.open, path, os.O_RDONLY | os.O_NONBLOCK)
attempt(os.read, fd, 512)
worked()
"""


def block_devices():
    """A disk of the host, else a loop device, even one without a file."""
    with open("/proc/partitions") as file:
        for line in file.readlines()[2:]:
            major, minor, _, _ = line.split()
            yield ["b", major, minor]
    yield ["b", "7", "0"]


def control(device):
    """In a tmpfs of its own, which the mount namespace takes along."""
    prepare = "check(libc.mount(b'none', b'/mnt', b'tmpfs', 0, None), 'mount')\n"
    return attack.outside(
        prepare + ATTACK, [*device, "/mnt"], unshare=["--mount"]
    )


@pytest.mark.parametrize("folder", ["/workspace", "/tmp", "/dev", "/dev/shm"])
def test_a_disk(daemon, folder):
    usable = [d for d in block_devices() if control(d).worked]
    if not usable:
        pytest.skip("this host lets not even its root open a block device")
    for device in usable:
        got = attack.inside(daemon, ATTACK, [*device, folder])
        assert got.refused, got


@pytest.mark.parametrize("name, minor", [("zero", "5"), ("kmsg", "11")])
def test_a_character_device(daemon, name, minor):
    """Even a harmless one: no node can be made at all."""
    assert control(["c", "1", minor]).worked
    got = attack.inside(daemon, ATTACK, ["c", "1", minor, "/workspace"])
    assert got.refused, got


EXISTING = """
import stat
allowed = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2)}
found = []
for folder, names, files in os.walk("/dev"):
    for name in files:
        path = os.path.join(folder, name)
        info = os.lstat(path)
        node = (os.major(info.st_rdev), os.minor(info.st_rdev))
        if stat.S_ISBLK(info.st_mode) or (
            stat.S_ISCHR(info.st_mode) and node not in allowed
        ):
            found.append("%s %s" % (path, node))
if found:
    worked(" ".join(found))
refused("only harmless ones")
"""


def test_dev_holds_none(daemon):
    assert attack.outside(EXISTING).worked
    got = attack.inside(daemon, EXISTING)
    assert got.refused, got
