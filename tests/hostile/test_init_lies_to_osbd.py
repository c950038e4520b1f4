# SPDX-License-Identifier: Apache-2.0
"""An init that was taken over talks to osbd; it stands behind its own walls.

A program called `attack` isn't started: its arguments are what init says or
does instead, see tests/hostile/speak.c.
"""

import os
import statistics
import threading
import time

import pytest

import api as http_api
import hostile
import procs

TAKE = {"osb-init": hostile.HOSTILE / "osb-init"}
MEGABYTE = 1024
U32, U64 = 2**32 - 1, 2**64 - 1


@pytest.fixture(scope="module")
def shared(programs, shared_daemon):
    """Real broker and osbd; every launcher and init is hostile."""
    with hostile.Service("--private", take=TAKE) as service:
        with_box = service.api().create()
        assert with_box.run("true").verdict["verdict"] == "exited"
        with_box.delete()
        yield service


@pytest.fixture
def service(shared):
    front = shared.osbd()
    with hostile.unharmed(shared):
        yield shared
        assert shared.osbd() == front, "osbd died"
        procs.wait_for(lambda: not shared.api().ids(), 2, "no sandbox")


@pytest.fixture
def box(service):
    made = service.api().create()
    yield made
    made.delete()


@pytest.fixture
def other(service):
    """A sandbox of somebody else, which must not notice."""
    made = service.api().create()
    assert made.run("true").verdict["exit_code"] == 0
    yield made
    assert made.run("true").verdict["exit_code"] == 0
    made.delete()


def attack(box, *words, **first):
    return box.run("attack", *words, **first)


def test_what_it_may_say_is_believed(box):
    """The control: each wrong word below differs from these in one thing."""
    done = attack(box, "started", "write,bytes=5", "exited,exit_code=7")
    assert done.verdict["verdict"] == "exited" and done.pid == 2
    assert done.verdict["exit_code"] == 7 and len(done.stdout) == 5
    done = attack(box, "failed")
    assert done.verdict["exit_code"] == 127


LIES = [
    ["exited"],
    ["started", "started"],
    ["started", "failed"],
    ["started,pid=0"],
    ["started,pid=-1"],
    ["failed,stage=0"],
    ["failed,stage=8"],
    ["failed,stage=4294967295"],
    ["failed,sys=-1"],
    *[["started", f"exited,{change}"] for change in (
        "verdict=0", "verdict=1", "verdict=9", "verdict=12",
        "verdict=10", "verdict=11", # of who exits with 0
        f"verdict={U32}",
        "exit_code=-1", "exit_code=-2", "exit_code=256", "exit_code=99999",
        "signal=9", "signal=-1", "signal=65,exit_code=-1", f"signal={U32}",
        "verdict=5", "verdict=4", "verdict=6,signal=9,exit_code=-1",
    )],
    *[[f"started,op={op}"] for op in (0, 2, 4, 6, 7, U32)],
    *[[f"{what},len={length}"] for what in ("started", "failed", "exited")
      for length in ("-1", "+1", "1", "3", "4", "5", "65536", "196608")],
    ["started", "exited,len=-1"],
    ["started", "exited,len=+1"],
    ["started", "exited,len=196608"],
]  # fmt: skip


def test_a_lie_ends_the_link_and_nothing_else(box, other):
    for lie in LIES:
        verdict = attack(box, *lie).verdict
        assert verdict["verdict"] == "lost", f"{lie}: {verdict}"
        # A new link to the same init is as good as the first.
        assert box.run("true").verdict["exit_code"] == 0, lie


def test_what_comes_after_the_last_word_counts_for_nobody(box, other):
    """Nor what is said of programs that osbd doesn't know."""
    done = attack(box, "started", "exited,exit_code=3", "exited,exit_code=4")
    assert done.verdict["exit_code"] == 3
    done = attack(box, "exited,exec=77", "started,exec=77,times=9", "started",
                  "exited,exec=1", "exited,exit_code=5")  # fmt: skip
    assert done.verdict["exit_code"] == 5
    assert box.run("true").verdict["exit_code"] == 0


NUMBERS = [
    f"limits={U32}", f"wall={U64}", f"cpu={U64}", f"peak={U64}",
    f"peak_pids={U32}", f"num_left={U32}", "num_left=17", "num_left=16",
    "num_left=1,left_pid=-1", "num_left=1,comm=" + "41" * 16,
    "num_left=1,comm=1b5b324a0a0d00", "num_left=1,comm=fffec0af22",
    "num_left=1,comm=edA080f4908080", "num_left=1,comm=225c2f3c00",
]  # fmt: skip


def test_odd_numbers_and_names_stay_valid_json(box):
    """The verdict is parsed strictly on its way here."""
    for number in NUMBERS:
        verdict = attack(box, "started", f"exited,{number}").verdict
        assert verdict["verdict"] == "exited", f"{number}: {verdict}"
        assert len(verdict["left_running"]) <= 16
        for value in ("wall_ms", "cpu_ms", "peak_memory_bytes", "peak_pids"):
            assert 0 <= verdict[value] < 2**63, f"{number}: {verdict}"
        for left in verdict["left_running"]:
            assert len(left["name"]) <= 16, f"{number}: {verdict}"


@pytest.mark.parametrize("kind", ["null", "memfd", "fifo", "linger"])
def test_descriptors_dont_reach_osbd(service, box, other, kind):
    before = len(procs.links(service.osbd(), "fd"))
    for number in (1, 40, 250):
        done = attack(box, f"exited,exec=5,fds={number},gift={kind}",
                      "started", "exited")  # fmt: skip
        refused = f"gift {kind} EPERM\n".encode() == done.stdout
        assert refused or done.verdict["verdict"] == "lost", done.stdout
    procs.wait_for(
        lambda: len(procs.links(service.osbd(), "fd")) <= before + 8, 2,
        "no descriptor stays",
    )  # fmt: skip


def times_of_true(box, number):
    times = []
    for _ in range(number):
        start = time.monotonic()
        assert box.run("true").verdict["exit_code"] == 0
        times.append(time.monotonic() - start)
    return times


HELD = {
    "flood": ["exited,exec=77,times=1000000"],
    "flood of a known one": ["started", "exited,exec=5,times=1000000"],
    "output without end": ["started", "write,bytes=0"],
    "silence": ["silent"],
    "silence after the start": ["started", "silent"],
    "closed": ["close"],
    "closed after the start": ["started", "close"],
}


@pytest.mark.parametrize("how", HELD)
def test_others_dont_notice(service, box, other, how):
    quiet = statistics.median(times_of_true(other, 5))
    front = service.osbd()
    size = procs.memory_kib(front, "VmRSS")
    running = box.exec("attack", *HELD[how])
    stop = threading.Event()

    def read():  # as a client that takes everything
        try:
            while not stop.is_set() and running.receive():
                running.stdout = b""
        except OSError:
            pass

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    bound = max(2, 10 * quiet)
    assert max(times_of_true(other, 10)) < bound
    assert procs.memory_kib(front, "VmRSS") < size + 8 * MEGABYTE
    start = time.monotonic()
    assert box.delete().status == 204
    assert time.monotonic() - start < 2
    stop.set()
    running.ws.shutdown()
    reader.join(5)


def test_output_without_a_reader_takes_no_memory(service, box, other):
    front = service.osbd()
    size = procs.memory_kib(front, "VmRSS")
    with box.exec("attack", "started", "write,bytes=0") as running:
        running.wait_started()
        time.sleep(0.3)
        assert procs.memory_kib(front, "VmRSS") < size + 8 * MEGABYTE
        assert box.delete().status == 204


def test_a_deadline_that_init_ignores_ends_the_sandbox(box, other):
    start = time.monotonic()
    done = attack(box, "started", "silent", timeout_ms=500)
    assert 3 < time.monotonic() - start < 6
    assert done.verdict["verdict"] == "wall_timeout", done.verdict
    assert box.get().status == 404


def test_a_socket_that_init_doesnt_read_fills_without_harm(box, other):
    """osbd doesn't wait for room: a program more is an error, at worst."""
    started = [box.exec("attack", "silent")]
    for _ in range(20):
        started.append(box.exec("echo", "x" * 60000))
    assert max(times_of_true(other, 3)) < 2
    assert box.delete().status == 204
    for one in started:
        assert one.wait().verdict["type"] in ("verdict", "error")
        one.ws.shutdown()


def test_a_file_request_to_a_silent_init_ends_with_the_sandbox(box, other):
    box.exec("attack", "silent").ws.shutdown()
    stream = threading.Thread(
        target=lambda: box.upload(({"path": "/workspace/x"}, b"y")), daemon=True
    )
    stream.start()
    time.sleep(0.1)
    assert max(times_of_true(other, 3)) < 2
    assert box.delete().status == 204
    stream.join(3)
    assert not stream.is_alive()


def lines(box, word):
    done = attack(box, "started", word, "exited")
    return [line.split() for line in done.stdout.decode().splitlines()]


CGROUP_FS = {"27e0eb", "63677270"}
REGULAR = "100000"
DISK = 16 << 20


def is_layer(init, path):
    """A file of the sandbox's own layer, which has a size of its own?"""
    fs = os.statvfs(f"/proc/{init}/fd/{path.rsplit('/', 1)[1]}")
    return fs.f_blocks * fs.f_frsize <= DISK + (1 << 20)


def test_no_descriptor_that_it_holds_can_grow_a_host_file(service):
    box = service.api().create(resourceLimits={"disk": str(DISK)})
    (init,) = service.inits()
    files = [line for line in lines(box, "list") if line[1] == REGULAR]
    assert files, "the cgroups' at least"
    for _, _, kind, _, _ in files:
        # On tmpfs: the sealed osb-files, and what is shown in /proc.
        assert kind in CGROUP_FS | {"1021994"}, files
    grown = [line[1] for line in lines(box, "grow") if line[-1] == "could"]
    assert len(grown) == 4, "what it shows: meminfo stat uptime loadavg"
    assert all(is_layer(init, path) for path in grown), grown
    assert not is_layer("self", f"/{os.open('/dev/shm', os.O_RDONLY)}")
    box.delete()


def test_it_reaches_no_cgroup_but_its_own(box):
    tried = {(line[1], line[2]) for line in lines(box, "climb")}
    could = {name for name, result in tried if result == "could"}
    # Its own directory, delegated: to move execs about in.
    assert could <= {"cgroup.procs", "tasks"}, tried
    assert len(tried) > 8


def test_it_makes_no_more_cgroups_than_execs_need(box):
    tried = {line[1]: line[2] for line in lines(box, "crowd")}
    assert tried["v2"] == "EAGAIN"
    # The control: v1 has no such limit. A group of pids costs next to nothing.
    assert tried.get("pids", "could") == "could"


def test_its_own_socket_has_no_name_inside(box):
    ((_, _, result),) = lines(box, "reach")
    assert result in ("ENOENT", "EACCES", "ENOTDIR", "EPERM"), result


SETUPS = ["short", "long", "empty", "negative", "unterminated", "gifts",
          "leave"]  # fmt: skip


@pytest.mark.parametrize("how", SETUPS)
def test_a_wrong_answer_at_its_setup_makes_no_sandbox(service, folder, how):
    body = dict(http_api.CREATE_BODY)
    body["volumes"] = [{"name": "v", "host": {"path": folder},
                        "mountPath": f"/attack-{how}"}]  # fmt: skip
    reply = service.api().request("POST", "/v1/sandboxes", body)
    if how == "gifts" and reply.status == 202:  # sent none, then was honest
        http_api.Sandbox(service.api(), reply.json()).delete()
    else:
        assert reply.status == 500, reply
    assert service.api().ids() == []
    procs.wait_for(lambda: not service.inits(), 2, "it is ended")


def test_silence_at_its_setup_holds_up_new_sandboxes_only(service, other,
                                                          folder):  # fmt: skip
    """For READY_TIMEOUT_MS: the broker waits where it makes a sandbox. No
    program of the sandbox has run by then, so init is still the launcher's."""
    body = dict(http_api.CREATE_BODY)
    body["volumes"] = [{"name": "v", "host": {"path": folder},
                        "mountPath": "/attack-silent"}]  # fmt: skip
    replies = []
    asking = threading.Thread(
        target=lambda: replies.append(
            service.api().request("POST", "/v1/sandboxes", body)
        ),
        daemon=True,
    )
    start = time.monotonic()
    asking.start()
    time.sleep(0.5)
    assert max(times_of_true(other, 10)) < 2
    assert service.run("--", "true").code == 0, "it waits, and is made"
    assert time.monotonic() - start < 12
    asking.join(2)
    assert replies[0].status == 500
