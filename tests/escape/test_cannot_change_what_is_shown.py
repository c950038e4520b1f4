# SPDX-License-Identifier: Apache-2.0
"""Root inside can't write to the files that init shows in /proc, by any name."""

import pytest

import attack

FILES = ("meminfo", "stat", "uptime", "loadavg", "cpuinfo")

WRITE = """
os.write(attempt(os.open, "/proc/" + sys.argv[1], os.O_WRONLY), b"0")
worked()
"""

# A descriptor for reading, opened again through /proc for writing.
REOPEN = """
fd = attempt(os.open, "/proc/" + sys.argv[1], os.O_RDONLY)
os.write(attempt(os.open, "/proc/self/fd/%d" % fd, os.O_RDWR), b"0")
worked()
"""

CHMOD = """
attempt(os.chmod, "/proc/" + sys.argv[1], 0o666)
worked()
"""

MAP = """
import mmap
fd = attempt(os.open, "/proc/" + sys.argv[1], os.O_RDWR)
mmap.mmap(fd, 1)[0] = 0x30
worked()
"""

REMOUNT = """
MS_REMOUNT, MS_BIND = 32, 4096
path = ("/proc/" + sys.argv[1]).encode()
check(libc.mount(None, path, None, MS_REMOUNT | MS_BIND, None), "mount")
worked()
"""

UNMOUNT = """
check(libc.umount2(("/proc/" + sys.argv[1]).encode(), 2), "umount2")
worked()
"""

# The control: the same file bound there, but not for reading only.
BOUND = """
import tempfile
folder = tempfile.mkdtemp()
assert libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, None) == 0
own = folder + "/file"
with open(own, "w") as file:
    file.write("1234")
MS_BIND_ = 4096
target = ("/proc/" + sys.argv[1]).encode()
assert libc.mount(own.encode(), target, None, MS_BIND_, None) == 0
libc.umount2(folder.encode(), 2)
os.rmdir(folder)
"""

ATTACKS = {
    "write": WRITE, "reopen": REOPEN, "chmod": CHMOD, "map": MAP,
    "remount": REMOUNT, "unmount": UNMOUNT,
}  # fmt: skip


@pytest.mark.parametrize("how", ATTACKS)
def test_root_changes_no_file_that_is_shown(daemon, how):
    for name in FILES:
        outcome = attack.inside(daemon, ATTACKS[how], args=[name])
        assert outcome.refused, (name, outcome)


@pytest.mark.parametrize("how", ATTACKS)
def test_control(how):
    outcome = attack.outside(
        BOUND + ATTACKS[how], args=["meminfo"], unshare=["--mount"]
    )
    assert outcome.worked, outcome
