# SPDX-License-Identifier: Apache-2.0
"""Whatever root does in a sandbox, another program in it starts and answers
within a second: nothing stops, fills or starves its init.

Each attack first shows that it bites: it does to an ordinary program, or finds
out by itself, what init must not feel. Then it goes on while we ask.
"""

import statistics
import time

import pytest

import attack

BITES = {
    "fork bomb": (
        r"""
first = True
while True:
    try:
        os.fork()
    except BlockingIOError:
        if first and os.getppid() == 1:
            print("no more processes", flush=True)
        first = False
""",
        "no more processes",
    ),
    "shell fork bomb": (
        r"""
subprocess.Popen(["bash", "-c", ":(){ :|:& };:"], stderr=subprocess.DEVNULL)
told = False
while True:
    try:
        if os.fork() == 0:
            os._exit(0)
        os.wait()
    except BlockingIOError:
        if not told:
            print("no more processes", flush=True)
        told = True
""",
        "no more processes",
    ),
    "memory bomb": (
        r"""
ended = 0
while True:
    if os.fork() == 0:
        taken = []
        while True:
            taken.append(bytearray(1 << 20))
    if os.wait()[1] == 9 and ended == 0:
        print("killed for memory", flush=True)
    ended += 1
""",
        "killed for memory",
    ),
    "open files": (
        r"""
import time
for _ in range(100):
    out, write = os.pipe()
    if os.fork() == 0:
        try:
            while True:
                os.dup(0)
        except OSError as error:
            os.write(write, errno.errorcode[error.errno].encode())
        time.sleep(60)
    got = os.read(out, 20).decode()
    os.close(out)
    os.close(write)
print(got, flush=True)
time.sleep(60)
""",
        "EMFILE",
    ),
    "full disk": (
        r"""
import time
ended = set()
for path in ("/workspace/", "/tmp/", "/dev/shm/"):
    try:
        with open(path + "all", "wb", 0) as file:
            while True:
                file.write(bytes(1 << 16))
    except OSError as error:
        ended.add(errno.errorcode[error.errno])
try:
    for number in range(1 << 17):
        os.mknod("/workspace/%d" % number)
except OSError as error:
    ended.add(errno.errorcode[error.errno])
print(*ended, flush=True)
time.sleep(60)
""",
        "ENOSPC",
    ),
    "signals": (
        r"""
import time
victim = os.fork()
if victim == 0:
    time.sleep(60)
os.kill(victim, 9)
print("killed by", os.wait()[1], flush=True)
while True:
    for number in range(1, 65):
        os.kill(1, number)
        syscall(297, 1, 1, number, ctypes.create_string_buffer(
            struct.pack("iii", number, 0, -1), 128))
""",
        "killed by 9",
    ),
    "ptrace and memory": (
        r"""
import time
victim = os.fork()
if victim == 0:
    time.sleep(60)
def enter(pid):
    SEIZE, INTERRUPT = 0x4206, 0x4207
    if libc.ptrace(SEIZE, pid, None, None) == 0:
        return libc.ptrace(INTERRUPT, pid, None, None) == 0
    try:
        os.open("/proc/%d/mem" % pid, os.O_RDWR)
        return True
    except OSError:
        return False
print("ordinary", enter(victim), "init", enter(1), flush=True)
while not enter(1):
    pass
""",
        "ordinary True init False",
    ),
    "who is killed for memory": (
        r"""
import time
def blame(pid, score):
    try:
        with open("/proc/%d/oom_score_adj" % pid, "w") as file:
            file.write(str(score))
        return True
    except OSError:
        return False
victim = os.fork()
if victim == 0:
    time.sleep(60)
print("ordinary", blame(victim, 1000), "init", blame(1, 1000),
      "itself", blame(os.getpid(), -1000), end=" ", flush=True)
while True:
    if os.fork() == 0:
        blame(os.getpid(), 0)
        taken = []
        while True:
            taken.append(bytearray(1 << 20))
    if os.wait()[0] == victim:
        print("died first", flush=True)
""",
        "ordinary True init False itself False died first",
    ),
    "scheduling": (
        r"""
def selfish():
    for what in (lambda: os.nice(-20),
                 lambda: os.setpriority(os.PRIO_USER, 0, -20),
                 lambda: os.sched_setscheduler(0, os.SCHED_FIFO,
                                               os.sched_param(1))):
        try:
            what()
            return True
        except OSError:
            pass
    return False
for _ in range(30):
    if os.fork() == 0:
        selfish()
        while True:
            pass
print("selfish", selfish(), flush=True)
while True:
    pass
""",
        "selfish False",
    ),
    "output": (
        r"""
if os.fork() == 0:
    import time
    time.sleep(0.2)
    print("flooded", flush=True)
while True:
    os.write(2, bytes(1 << 16))
""",
        "flooded",
    ),
}


@pytest.mark.parametrize("name", BITES)
def test_echo_answers(daemon, name):
    source, bite = BITES[name]
    box = daemon.api().create(
        resourceLimits={"memory": "256Mi", "cpu": "1", "disk": "16Mi",
                        "shm": "16Mi", "pids": "128"},
    )  # fmt: skip
    attacker = box.exec("python3", "-c", attack.PRELUDE + source, user="root")
    try:
        while b"\n" not in attacker.stdout:
            assert attacker.receive() and not attacker.verdict, attacker.verdict
        assert attacker.stdout.decode().strip().endswith(bite)
        took = []
        for _ in range(5):
            start = time.monotonic()
            assert box.run("echo", "ok", user="root").stdout == b"ok\n"
            took.append(time.monotonic() - start)
        # A busy machine may take its time once, not always.
        assert statistics.median(took) < 1, took
        assert max(took) < 5, took
    finally:
        box.delete()
        attacker.ws.shutdown()


def test_thousands_of_processes_count_as_one(daemon):
    source, bite = BITES["fork bomb"]
    box = daemon.api().create(
        resourceLimits={"memory": "4Gi", "cpu": "1", "pids": "3000"}
    )
    attacker = box.exec("python3", "-c", attack.PRELUDE + source)
    try:
        while b"\n" not in attacker.stdout:
            assert attacker.receive() and not attacker.verdict, attacker.verdict
        assert attacker.stdout.decode().strip().endswith(bite)
        took = []
        for _ in range(9):
            start = time.monotonic()
            assert box.run("echo", "ok").stdout == b"ok\n"
            took.append(time.monotonic() - start)
        assert statistics.median(took) < 1, took
    finally:
        box.delete()
        attacker.ws.shutdown()


def test_a_program_may_be_silenced(daemon):
    """The control: what keeps the room for echo is that an exec has less than
    the sandbox. Two that take all they can leave none."""
    take = (
        "import os, time\n"
        "try:\n"
        "    while os.fork(): pass\n"
        "except OSError: print('all', flush=True)\n"
        "time.sleep(60)\n"
    )
    box = daemon.api().create(resourceLimits={"cpu": "1", "memory": "512Mi",
                                              "pids": "64"})  # fmt: skip
    takers = []
    try:
        for _ in range(2):
            taker = box.exec("python3", "-c", take)
            takers.append(taker)
            while b"all" not in taker.stdout:
                assert taker.receive() and not taker.verdict, taker.verdict
        assert box.run("echo", "ok").stdout == b""
    finally:
        box.delete()
        for taker in takers:
            taker.ws.shutdown()
