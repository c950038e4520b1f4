# SPDX-License-Identifier: Apache-2.0
"""A program is shown the size of its sandbox, not of the host."""

import json
import os
import re
import shutil
import time

import pytest

import osb
import procs

pytestmark = pytest.mark.plain

SMALL = ("--memory", "256Mi", "--cpus", "1")
LIMITS = {"memory": "256Mi", "cpu": "1"}
HOST_CPUS = os.cpu_count()
MIB = 1 << 20


def needs(program):
    return pytest.mark.skipif(
        shutil.which(program, path="/usr/bin:/usr/local/bin:/bin") is None,
        reason=f"this host has no {program}",
    )


def meminfo(text):
    """KEY: bytes"""
    found = re.findall(r"^(\S+): +(\d+) kB$", text, re.M)
    assert len(found) == len(text.splitlines())
    return {key: int(value) * 1024 for key, value in found}


# nproc believes this one, whatever the machine is like.
UNSET = "unset OMP_NUM_THREADS; "


def sh(daemon, script, *options):
    done = daemon.sh(script, *(options or SMALL))
    assert done.code == 0, done
    return done.out


# --- what runtimes say ----------------------------------------------------


def test_processors_are_those_of_the_limit(daemon):
    assert sh(daemon, UNSET + "nproc; nproc --all").split() == ["1", "1"]
    assert sh(daemon, "grep -c ^processor /proc/cpuinfo") == "1\n"
    assert sh(daemon, "grep -c ^cpu[0-9] /proc/stat") == "1\n"
    done = daemon.python(
        "import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))", *SMALL
    )
    assert done.out == "1 1\n", done


def test_a_part_of_a_processor_counts_but_none_that_the_host_lacks(service):
    daemon = service("--private")  # it keeps what it made for each number
    script = (
        f"echo $OMP_NUM_THREADS; {UNSET} nproc;"
        "cat /sys/devices/system/cpu/online;"
        "grep -c ^processor /proc/cpuinfo; grep -c ^cpu[0-9] /proc/stat"
    )
    for cpus, limit in ("0.3", 1), ("1.5", 2), ("900", 900):
        threads = min(limit, HOST_CPUS)
        shown = min(threads, 64)
        online = "0" if shown == 1 else f"0-{shown - 1}"
        expected = [threads, shown, online, shown, shown]
        out = sh(daemon, script, "--cpus", cpus)
        assert out.split() == list(map(str, expected)), cpus


@needs("node")
def test_node_sees_it(daemon):
    script = (
        "const os = require('os'); console.log(JSON.stringify([os.totalmem(),"
        " os.freemem(), os.cpus().length, os.availableParallelism ?"
        " os.availableParallelism() : 1]))"
    )
    done = daemon.run(*SMALL, "--", "node", "-e", script)
    assert done.code == 0, done
    total, free, cpus, parallel = json.loads(done.out)
    assert total == 256 * MIB
    assert free <= total
    assert (cpus, parallel) == (1, 1)


@needs("java")
@needs("javac")
def test_java_sees_it(daemon):
    source = (
        "class A { public static void main(String[] a) {"
        " Runtime r = Runtime.getRuntime();"
        ' System.out.println(r.availableProcessors() + " " + r.maxMemory());'
        " } }"
    )
    out = sh(daemon, f"cd /tmp && echo '{source}' >A.java && java A.java")
    processors, memory = map(int, out.split())
    assert processors == 1
    assert memory < 256 * MIB


def test_memory_is_the_limit(daemon):
    assert meminfo(sh(daemon, "cat /proc/meminfo"))["MemTotal"] == 256 * MIB
    total, used = sh(daemon, "free -m | grep Mem:").split()[1:3]
    assert total == "256"
    assert int(used) < 64
    assert "Swap: 0 0 0" in sh(daemon, "free -m | tr -s ' '")
    pages = int(sh(daemon, "getconf _PHYS_PAGES"))
    assert pages * os.sysconf("SC_PAGE_SIZE") == 256 * MIB


def test_shared_memory_and_disk_have_their_set_size(daemon):
    script = (
        "import os\n"
        "for path in '/dev/shm', '/':\n"
        "    v = os.statvfs(path); print(v.f_blocks * v.f_frsize)"
    )
    done = daemon.python(script, "--memory", "256Mi", "--disk", "32Mi")
    shm, disk = map(int, done.out.split())
    assert shm == 64 * MIB
    assert 32 * MIB <= disk < 33 * MIB


def test_over_the_api_it_is_the_same(daemon):
    box = daemon.api().create(resourceLimits=LIMITS)
    events = box.command(UNSET + "nproc; free -m | awk '/Mem:/{print $2}'; python3 -c "
                         "'import os; print(len(os.sched_getaffinity(0)))'")  # fmt: skip
    texts = [e["text"] for e in events if e["type"] == "stdout"]
    assert "".join(t + "\n" for t in texts).split() == ["1", "256", "1"]
    box.delete()


def test_time_begins_with_the_sandbox(daemon):
    out = sh(daemon, "cat /proc/uptime; uptime -p; cat /proc/loadavg")
    assert float(out.split()[0]) < 60
    assert re.search(r"^0\.\d\d 0\.\d\d 0\.\d\d 1/\d+ \d+ *$", out, re.M), out


def test_libraries_are_told_how_many_threads(daemon):
    names = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
             "MALLOC_ARENA_MAX"]  # fmt: skip
    script = "echo " + " ".join("$" + name for name in names)
    assert sh(daemon, script) == "1 1 1 2\n"
    out = sh(daemon, script, *SMALL, "--env", "OMP_NUM_THREADS=5")
    assert out == "5 1 1 2\n"


# --- as it changes --------------------------------------------------------


def test_what_a_program_uses_shows_within_seconds(daemon):
    script = """
import time
def read():
    text = open("/proc/meminfo").read()
    return {l.split(":")[0]: int(l.split()[1]) for l in text.splitlines()}
before = read()
held = bytearray(100 << 20)
for i in range(0, len(held), 4096):
    held[i] = 1
deadline = time.monotonic() + 20
while True:
    now = read()
    if before["MemFree"] - now["MemFree"] > 90 << 10:
        break
    assert time.monotonic() < deadline, (before, now)
    time.sleep(0.05)
assert now["MemTotal"] == 256 << 10
assert now["MemAvailable"] < 170 << 10, now
assert now["AnonPages"] > 90 << 10, now
spin = time.monotonic() + 2.5
while time.monotonic() < spin:
    pass
assert float(open("/proc/loadavg").read().split()[0]) > 0
user = int(open("/proc/stat").readline().split()[1])
assert user > 50, user
"""
    done = daemon.python(script, *SMALL)
    assert done.code == 0, done


def test_no_reader_sees_half_a_number(daemon):
    script = """
import time
layouts = set()
free = set()
end = time.monotonic() + 3.5
held = []
while time.monotonic() < end:
    held.append(bytearray(1 << 16) if len(held) < 1000 else None)
    text = open("/proc/meminfo").read()
    layouts.add(tuple(line.split()[0] for line in text.splitlines()))
    assert len({len(text), 724}) <= 2
    values = [int(line.split()[1]) for line in text.splitlines()]
    assert values[0] == 256 << 10 and max(values) == values[0], text
    free.add(values[1])
assert len(layouts) == 1
assert len(free) >= 2, free
"""
    done = daemon.python(script, *SMALL)
    assert done.code == 0, done


def test_it_follows_when_one_that_waited_is_taken(service):
    daemon = service("--private", osbd_config="pool_max = 2\ncreate_rate = 0\n")
    api = daemon.api()

    def ready():
        there = {path.stem for path in (daemon.run_dir / "s").glob("*.sock")}
        return there - set(api.ids())

    first = [
        api.create(resourceLimits={"memory": "600Mi", "cpu": "1"})
        for _ in range(2)
    ]
    procs.wait_for(lambda: len(ready()) == 2, 10, "the pool is full")
    made_ahead = ready()
    box = api.create(resourceLimits={"memory": "700Mi", "cpu": "700m"})
    assert box.id in made_ahead
    events = box.command(UNSET + "free -m | awk '/Mem:/{print $2}'; nproc")
    texts = [e["text"] for e in events if e["type"] == "stdout"]
    assert " ".join(texts).split() == ["700", "1"]
    for each in [box, *first]:
        each.delete()


def switches(pid):
    return int(procs.status(pid)["voluntary_ctxt_switches"])


def test_where_nothing_runs_nothing_is_brought_up_to_date(daemon):
    before = set(inits(daemon))
    box = daemon.api().create(resourceLimits=LIMITS)
    box.command("true")
    [init] = set(inits(daemon)) - before

    def woken_in_three_seconds():
        start = switches(init)
        time.sleep(3)
        return switches(init) - start

    procs.wait_for(lambda: woken_in_three_seconds() == 0, 15, "it is idle")
    command = box.start("sleep 60")
    assert woken_in_three_seconds() >= 2, "the control: one runs"
    box.forget(command)
    procs.wait_for(lambda: woken_in_three_seconds() == 0, 15, "idle again")
    box.delete()


def inits(daemon):
    return [
        p
        for p in daemon.children("osb-init")
        if procs.status(p).get("NSpid", "").split()[1:][-1:] == ["1"]
    ]


# --- the calls that init answers ------------------------------------------

CALLS = r"""
import ctypes, errno, mmap, os, signal, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
SYSINFO, GETAFFINITY = 99, 204

def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, args))
    return result if result >= 0 else errno.errorcode[ctypes.get_errno()]

def page(protection, num=1):
    return libc.mmap(None, ctypes.c_size_t(4096 * num), protection, 0x22, -1,
                     ctypes.c_long(0))
buffer = ctypes.create_string_buffer(4096)
there = ctypes.addressof(buffer)
def is_(got, expected):
    assert got == expected, (got, expected)
"""


def python(daemon, source, *options):
    done = daemon.python(CALLS + source, *(options or SMALL))
    assert done.code == 0, done
    return done.out


def test_bad_pointers_are_efault(daemon):
    python(daemon, r"""
PROT_NONE, PROT_READ, RW = 0, 1, 3
alone = page(RW, 2)
is_(libc.munmap(ctypes.c_void_p(alone + 4096), 4096), 0)
bad = [0, 1, -1, -4096, 1 << 62, 0xffffffffff600000 - (1 << 64),
       page(PROT_NONE), page(PROT_READ), alone + 4096 - 8]
for address in bad:
    is_(call(SYSINFO, address), "EFAULT")
is_(call(SYSINFO, page(RW)), 0)
is_(call(SYSINFO, alone + 4096 - 112), 0)
for address in bad[:-1]:
    is_(call(GETAFFINITY, 0, 128, address), "EFAULT")
is_(libc.mmap and call(GETAFFINITY, 0, 128, page(RW)) > 0, True)
""")


def test_affinity_is_the_kernels_but_for_how_many(daemon):
    python(daemon, r"""
n = call(GETAFFINITY, 0, 4096, there)
assert n >= 8 and n % 8 == 0, n
is_(bin(int.from_bytes(buffer.raw[:n], "little")).count("1"), 1)
is_(call(GETAFFINITY, 0, 12, there), "EINVAL")
is_(call(GETAFFINITY, 0, 0, there), "EINVAL")
is_(call(GETAFFINITY, 0, 1 << 20, there), n)
is_(call(GETAFFINITY, os.getpid(), 128, there), n)
is_(call(GETAFFINITY, os.getppid() or 1, 128, there), n)
is_(call(GETAFFINITY, 99999, 128, there), "ESRCH")
is_(call(GETAFFINITY, -5, 128, there), "ESRCH")
""")


@pytest.mark.skipif(HOST_CPUS < 2, reason="this host has one processor")
def test_what_a_program_chose_itself_shows(service):
    python(service("--private"), r"""
os.sched_setaffinity(0, {1})
is_(os.sched_getaffinity(0), {1})
os.sched_setaffinity(0, {0, 1})
is_(os.sched_getaffinity(0), {0, 1})
child = os.fork()
if child == 0:
    os.sched_setaffinity(0, {0})
    os._exit(len(os.sched_getaffinity(0)))
is_(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 1)
""", "--cpus", "2")  # fmt: skip


@pytest.mark.parametrize("user", ["root", "sandbox", "4321"])
def test_whoever_asks_is_answered(daemon, user):
    assert sh(daemon, UNSET + "nproc; getconf _PHYS_PAGES", *SMALL, "--user",
              user).split() == ["1", "65536"]  # fmt: skip


def test_a_program_that_cannot_be_read_is_answered(daemon):
    out = sh(daemon, UNSET + "cp /usr/bin/nproc /workspace/; chmod 711 nproc; "
             "setpriv --reuid 1000 --clear-groups sh -c '"
             "cat nproc >/dev/null 2>&1 || ./nproc'", *SMALL, "--user", "root")  # fmt: skip
    assert out == "1\n"


def test_threads_and_children_are_answered(daemon):
    python(daemon, r"""
seen = []
def look():
    seen.append(len(os.sched_getaffinity(0)))
threads = [threading.Thread(target=look) for _ in range(20)]
[t.start() for t in threads]
[t.join() for t in threads]
is_(seen, [1] * 20)
""")


X32 = 0x40000000
INT80 = r"""
# mov eax, 116 (sysinfo); xor ebx, ebx; int 0x80; ret, with ebx kept
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("53b87400000031dbcd805bc3"))
at = ctypes.addressof(ctypes.c_char.from_buffer(code))
result = ctypes.CFUNCTYPE(ctypes.c_int)(at)()
"""


@pytest.mark.skipif(os.uname().machine != "x86_64",
                    reason="this host has one way to make a system call")  # fmt: skip
def test_other_ways_to_call_are_refused_as_ever(daemon):
    python(daemon, f"""
is_(call({X32} + SYSINFO, there), "ENOSYS")
is_(call({X32} + GETAFFINITY, 0, 128, there), "ENOSYS")
{INT80}
is_(result, -errno.ENOSYS)
""")


def test_nobody_inside_becomes_the_one_who_answers(daemon):
    python(daemon, r"""
import struct
libc.prctl(38, 1, 0, 0, 0)
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1,
                                                  ctypes.addressof(allow)))
NEW_LISTENER = 8
is_(call(317, 1, NEW_LISTENER, ctypes.addressof(program)), "EBUSY")
is_(call(317, 1, 0, ctypes.addressof(program)), 0)
is_(len(os.sched_getaffinity(0)), 1)
""")


LISTENING = r"""
import ctypes, os, signal, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
SECCOMP, NEW_LISTENER = ctypes.c_long(317), ctypes.c_long(8)
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(
    struct.pack("HxxxxxxQ", 1, ctypes.addressof(allow)))
assert libc.prctl(38, 1, 0, 0, 0) == 0
listener = libc.syscall(SECCOMP, ctypes.c_long(1), NEW_LISTENER, program)
assert listener > 0, ctypes.get_errno()
if os.fork() == 0:  # it is one while somebody holds it, and nothing else
    os.closerange(0, listener)
    os.closerange(listener + 1, 1024)
    libc.prctl(1, signal.SIGKILL, 0, 0, 0)
    signal.pause()
os.close(listener)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(os.uname().machine != "x86_64",
                    reason="this host numbers its system calls otherwise")  # fmt: skip
def test_where_somebody_else_listens_the_kernel_answers(service):
    daemon = service("--private", wrapper=[osb.PYTHON, "-c", LISTENING])
    done = daemon.sh(UNSET + "nproc; getconf _PHYS_PAGES; free -m", *SMALL)
    assert done.code == 0, done
    processors, pages, *rest = done.out.split()
    assert int(processors) == HOST_CPUS
    assert int(pages) == os.sysconf("SC_PHYS_PAGES")
    assert rest[rest.index("Mem:") + 1] == "256", "files are as ever"


# --- and who would keep it from its work -----------------------------------

FLOOD = r"""
def ask():
    while True:
        libc.sysinfo(buffer)
for _ in range(50):
    threading.Thread(target=ask, daemon=True).start()
"""


def test_a_flood_of_questions_keeps_nobody_waiting(daemon):
    box = daemon.api().create(resourceLimits=LIMITS)
    flood = box.start(f"exec {osb.PYTHON} -c '{CALLS}{FLOOD}\ntime.sleep(60)'"
                      .replace('r"""', ""))  # fmt: skip
    procs.wait_for(
        lambda: "".join(
            e.get("text", "")
            for e in box.command("ls /proc/*/task 2>/dev/null | wc -l")
            if e["type"] == "stdout"
        ).strip()
        > "50",
        20,
        "fifty that ask",
    )
    took = []
    for _ in range(10):
        start = time.monotonic()
        events = box.command("echo ok")
        took.append(time.monotonic() - start)
        assert "ok" in [e.get("text") for e in events]
    assert sorted(took)[len(took) // 2] < 1, took
    assert box.status(flood)["running"], "the flood went on"
    box.forget(flood)
    box.delete()


def test_who_is_killed_while_it_is_answered_is_just_gone(daemon):
    python(daemon, r"""
for round in range(300):
    child = os.fork()
    if child == 0:
        while True:
            libc.sysinfo(buffer)
            os.sched_getaffinity(0)
    time.sleep(0.0005 * (round % 5))
    os.kill(child, signal.SIGKILL if round % 3 else signal.SIGTERM)
    os.waitpid(child, 0)
is_(len(os.sched_getaffinity(0)), 1)
# Interrupted by a handler it is answered all the same.
caught = []
signal.signal(signal.SIGALRM, lambda *_: caught.append(1))
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
for _ in range(5000):
    is_(libc.sysinfo(buffer), 0)
signal.setitimer(signal.ITIMER_REAL, 0)
assert caught
""")
