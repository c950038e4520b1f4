# SPDX-License-Identifier: Apache-2.0
"""One sandbox takes all it can get of what the kernel counts by user or in
all: its neighbour still gets as much as before.

The control is the same in two processes of one user outside: the first leaves
nothing, or less, for the second.
"""

import os

import pytest

import attack

# Each defines take(), which takes as much as it can and says how much that was.
TAKE = {
    "inotify instances": """
def take():
    n = 0
    while n < 900 and libc.inotify_init() >= 0:
        n += 1
    return n
""",
    "pending signals": """
import signal
class Value(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("pointer", ctypes.c_void_p)]
libc.sigqueue.argtypes = [ctypes.c_int, ctypes.c_int, Value]
def take():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
    n = 0
    while libc.sigqueue(os.getpid(), signal.SIGRTMIN, Value(1)) == 0:
        n += 1
    return n
""",
    "timers": """
def take():
    n, timer = 0, ctypes.c_void_p()
    while libc.timer_create(1, None, ctypes.byref(timer)) == 0:
        n += 1
    return n
""",
    # Beyond 1,024 a user's pipes are made smaller: only large ones count.
    "pipe buffers": """
import fcntl
def large(pipes):
    n = 0
    for _ in range(450):
        pipes += os.pipe()
        n += fcntl.fcntl(pipes[-1], 1032) == 65536
    return n
def take():
    total = 0
    for _ in range(3):
        out, write = os.pipe()
        if os.fork() == 0:
            pipes = []
            os.write(write, b"%d " % large(pipes))
            signal.pause()
        total += int(os.read(out, 10))
    return total
import signal
""",
    "sysv semaphores": """
def take():
    n = 0
    while n < 40000 and libc.semget(0, 1, 0o1600) >= 0:
        n += 1
    return n
""",
    "sysv queues": """
def take():
    n = 0
    while n < 40000 and libc.msgget(0, 0o1600) >= 0:
        n += 1
    return n
""",
}

# What no sandbox may have at all, for it couldn't be shared fairly.
REFUSED = {
    "posix queues": """
def take():
    n, name = 0, b"osb%d." % os.getpid()
    while n < 99 and syscall(240, name + b"%d" % n, 0o302, 0o600, None) >= 0:
        n += 1
    return n
""",
    "keys": """
def take():
    n = 0
    while n < 999 and syscall(248, b"user", b"osb%d" % n, b"x", 1, -2) >= 0:
        n += 1
    return n
""",
}

# The same for two: how much each gets.
BOTH = """
import resource, signal
resource.setrlimit(resource.RLIMIT_SIGPENDING, (2000, 2000))
os.setgroups([])
os.setresgid(*[int(sys.argv[1])] * 3)
os.setresuid(*[int(sys.argv[1])] * 3)
counts = []
for _ in range(2):
    out, write = os.pipe()
    if os.fork() == 0:
        os.write(write, b"%d" % take())
        signal.pause()
    counts.append(int(os.read(out, 20)))
first, second = counts
if first == 0:
    refused("none for the first")
if second * 2 > first:
    refused("%d, then %d" % (first, second))
worked("%d, then %d" % (first, second))
"""

HOLD = "\nprint(take(), flush=True)\nimport time; time.sleep(60)\n"


def control(source):
    """As a user that nobody else is, in namespaces of their own."""
    user = 3_000_000_000 + os.getpid()
    got = attack.outside(
        source + BOTH, [user], unshare=["--pid", "--ipc", "--net"]
    )
    assert got.worked, got


def taken(box, source, user):
    """Start a program that takes all and keeps it; how much it got."""
    running = box.exec("python3", "-c", attack.PRELUDE + source + HOLD,
                       user=user)  # fmt: skip
    while b"\n" not in running.stdout:
        assert running.receive() and not running.stderr, running.stderr
    return running, int(running.stdout)


def with_a_neighbour(daemon, source, user):
    """How much one gets before, and what the other takes meanwhile."""
    api = daemon.api()
    held, counts = [], []
    boxes = [api.create(), api.create()]
    try:
        for box in boxes:
            running, count = taken(box, source, user)
            held.append(running)
            counts.append(count)
    finally:
        for box in boxes:
            box.delete()
        for running in held:
            running.ws.shutdown()
    return counts


@pytest.mark.parametrize("user", ["root", "sandbox"])
@pytest.mark.parametrize("what", TAKE)
def test_what_is_counted(daemon, what, user):
    control(TAKE[what])
    attacker, neighbour = with_a_neighbour(daemon, TAKE[what], user)
    assert attacker > 0
    assert neighbour >= attacker, (attacker, neighbour)


@pytest.mark.parametrize("what", REFUSED)
def test_what_nobody_gets(daemon, what):
    control(REFUSED[what])
    assert with_a_neighbour(daemon, REFUSED[what], "root") == [0, 0]


# One number for the whole host: the control takes a little of it.
AIO = """
def used():
    return int(open("/proc/sys/fs/aio-nr").read())
context, before = ctypes.c_ulong(0), used()
check(syscall(206, 1000, ctypes.byref(context)), "io_setup")
worked("of the host's: %d" % (used() - before))
"""


def test_asynchronous_io_of_the_host(daemon):
    control = attack.outside(AIO)
    assert control.worked, control
    for user in ("root", "sandbox"):
        got = attack.inside(daemon, AIO, user=user)
        assert got.refused and "ENOSYS" in got.text, got


# The host's limit is for millions; a sandbox's memory ends long before.
EPOLL = """
import select
files = [os.eventfd(0) for _ in range(700)]
added = 0
for _ in range(200):
    epoll = select.epoll()
    os.dup2(epoll.fileno(), 800 + _)
    for fd in files:
        epoll.register(fd, select.EPOLLIN)
        added += 1
    if added > 130000:
        worked("%d watches" % added)
refused("few")
"""


def test_epoll_watches_are_memory(daemon):
    assert attack.outside(EPOLL).worked
    done = daemon.python(attack.PRELUDE + EPOLL, "--memory", "20Mi")
    assert done.code == 137, done
