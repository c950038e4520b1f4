# SPDX-License-Identifier: Apache-2.0
"""A process of another sandbox can't be named: not traced, not signalled, not
slowed down, not counted."""

import subprocess

import pytest

import attack

# By every number that there could be: the victim's own, here or on the host.
REACH = """
pids = [int(pid) for pid in sys.argv[2:]] or [
    pid for pid in range(2, 33000) if pid != os.getpid()]
def reached(pid):
    SEIZE, PRIO_PROCESS = 0x4206, 0
    return {
        "signal": lambda: libc.kill(pid, 0),
        "queue": lambda: libc.sigqueue(pid, 0, None),
        "tgkill": lambda: syscall(234, pid, pid, 0),
        "pidfd": lambda: syscall(434, pid, 0),
        "trace": lambda: libc.ptrace(SEIZE, pid, None, None),
        "niceness": lambda: libc.setpriority(PRIO_PROCESS, pid, 10),
        "affinity": lambda: libc.sched_getaffinity(pid, 128, bytes(128)),
        "group": lambda: libc.getpgid(pid),
    }[sys.argv[1]]() >= 0
found = [pid for pid in pids if reached(pid)]
if found:
    worked(str(found))
refused("nobody")
"""

WAYS = ["signal", "queue", "tgkill", "pidfd", "trace", "niceness", "affinity",
        "group"]  # fmt: skip


@pytest.fixture
def victim():
    process = subprocess.Popen(["sleep", "300"])
    yield process.pid
    process.kill()
    process.wait()


@pytest.mark.parametrize("way", WAYS)
def test_by_number(daemon, sandbox, victim, way):
    """The control: who isn't in a sandbox reaches one that sleeps there."""
    with sandbox.exec("sleep", "300.25", user="root") as sleeping:
        sleeping.wait_started()
        on_host = attack.host_pid_of("300.25")
        for pid in (victim, on_host):
            control = attack.outside(REACH, [way, pid])
            assert control.worked, (control, pid)
        got = attack.inside(daemon, REACH, [way], options=["--pids", "16"])
        assert got.refused, got


# What leads to a process without its number: the ids of its user.
BY_USER = """
PRIO_USER = 2
libc.setpriority(PRIO_USER, int(sys.argv[1]), 17)
worked() if os.getpriority(os.PRIO_PROCESS, int(sys.argv[2])) == 17 else \\
    refused("as it was")
"""


def stat_of(pid, number):
    """A field of /proc/PID/stat; the third is the state."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[number - 3]


NICE = 19


def test_by_user(daemon, sandbox, victim):
    """Both sandboxes' users are root inside; the host sees two."""
    sleeper = subprocess.Popen(["sleep", "300"], user=3_000_000_001)
    try:
        assert attack.outside(BY_USER, [3_000_000_001, sleeper.pid]).worked
    finally:
        sleeper.kill()
        sleeper.wait()
    with sandbox.exec("sleep", "300.26", user="root") as sleeping:
        sleeping.wait_started()
        pid = attack.host_pid_of("300.26")
        before = [stat_of(other, NICE) for other in (pid, victim)]
        source = BY_USER.replace("int(sys.argv[2])", "0")
        got = attack.inside(daemon, source, [0])  # the control: itself, it can
        assert got.worked, got
        after = [stat_of(other, NICE) for other in (pid, victim)]
        assert after == before and "17" not in after


# kill(-1) means all that one may signal: what is in this sandbox.
ALL = """
import signal
child = os.fork()
if child == 0:
    signal.pause()
os.kill(-1, 9)
worked("its own" if os.waitpid(child, 0)[1] == 9 else "")
"""


def test_all_at_once(daemon, sandbox, victim):
    with sandbox.exec("sleep", "300.27", user="root") as sleeping:
        sleeping.wait_started()
        got = attack.inside(daemon, ALL)  # the control: it does kill
        assert got.worked and "its own" in got.text, got
        assert sandbox.run("echo", "ok").stdout == b"ok\n"
        assert stat_of(victim, 3) == "S"
