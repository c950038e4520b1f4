# SPDX-License-Identifier: Apache-2.0
"""No real time, no deadline, no better niceness, no locked memory beyond its
limit: root inside waits for the processors like anybody."""

import pytest

import attack

WAYS = {
    "fifo": "attempt(os.sched_setscheduler, 0, os.SCHED_FIFO, "
            "os.sched_param(1))",
    "round robin": "attempt(os.sched_setscheduler, 0, os.SCHED_RR, "
                   "os.sched_param(99))",
    # struct sched_attr: size, policy, flags, nice, priority, runtime,
    # deadline, period.
    "deadline": """
check(syscall(314, 0, ctypes.create_string_buffer(struct.pack(
    "IIQiIQQQ", 48, 6, 0, 0, 0, 10000000, 30000000, 30000000)), 0), "deadline")
""",
    "niceness": "attempt(os.setpriority, os.PRIO_PROCESS, 0, -1)",
    "niceness of all": "attempt(os.setpriority, os.PRIO_USER, 0, -1)",
    # The real-time class of the disk's scheduler, of this process.
    "disk": "check(syscall(251, 1, 0, 1 << 13 | 0), 'ioprio_set')",
    "limits": """
import resource
attempt(resource.prlimit, 0, resource.RLIMIT_RTPRIO, (1, 1))
""",
}  # fmt: skip


@pytest.mark.parametrize("user", ["root", "sandbox"])
@pytest.mark.parametrize("way", WAYS)
def test_way(daemon, way, user):
    source = WAYS[way].replace("prlimit, 0", "prlimit, os.getpid()")
    source += "\nworked()\n"
    got = attack.inside(daemon, source, user=user)
    assert got.refused, got
    if way == "limits":  # takes CAP_SYS_RESOURCE, which a host's root may lack
        source = source.replace("RTPRIO", "NOFILE")
    # A user of its own, so that "all" are few.
    control = attack.outside(source, unshare=["--pid", "--mount-proc"])
    assert control.worked, control


MLOCK = """
import mmap, resource
size = int(sys.argv[1]) << 20
memory = mmap.mmap(-1, size)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
check(libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(size)), "mlock")
worked()
"""


@pytest.mark.parametrize("user", ["root", "sandbox"])
def test_locked_memory(daemon, user):
    """Half of it the limit on locked memory stops, and what that lets through
    counts as any memory does."""
    assert attack.outside(MLOCK, [200]).worked
    got = attack.inside(daemon, MLOCK, [200], user=user,
                        options=["--memory", "512Mi"])  # fmt: skip
    assert got.refused and "mlock" in got.text, got
