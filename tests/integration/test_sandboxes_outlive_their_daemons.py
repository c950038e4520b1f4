# SPDX-License-Identifier: Apache-2.0
"""kill -9 of osbd, of the broker, of both: whatever was acknowledged is there
afterwards, and what runs in it goes on."""

import contextlib
import fcntl
import glob
import http.client
import json
import os
import random
import signal
import socket
import sqlite3
import struct
import subprocess
import threading
import time

import pytest

import osb
import procs
from leaks import inits as all_inits

BLOCK = 1 << 24
FIRST = 80 * BLOCK  # of no other test
BLOCKS = f"id_base = {FIRST}\nid_blocks = 2\n"

INIT_LIFE, INIT_SYNCED = 8, 9  # src/wire/init_msg.h

VICTIMS = {
    "osbd": ("osbd",),
    "broker": ("broker",),
    "both": ("osbd", "broker"),
}

# Prints to both streams, the same each time, for about two seconds.
NUMBERS = (
    "for i in $(seq 60); do echo line $i; echo error $i >&2; sleep 0.03; done; "
    "printf end; exit 7"
)


def strike(daemon, victims):
    """End them; the next osbd answers when this returns."""
    daemon.kill(*victims)
    if "broker" in victims:
        daemon.restart()
    daemon.api().get("/health")


def inits(daemon=None):
    """First processes of sandboxes: all below us, or a broker's children."""
    own = all_inits()
    return [p for p in own if not daemon or procs.parent(p) == daemon.pid]


def init_of(marker):
    """The first process of the sandbox in which a program has this argument."""
    (inner,) = procs.wait_for(
        lambda: [p for p in procs.with_argument(marker)
                 if procs.comm(p) == "sleep"],
        5,
        f"a sleep {marker}",
    )  # fmt: skip
    space = procs.links(inner, "ns")["pid"]
    (pid,) = [p for p in inits() if procs.links(p, "ns")["pid"] == space]
    return pid


def block_of(pid):
    return (int(procs.status(pid)["Uid"].split()[0]) - FIRST) // BLOCK


def running(api):
    """Ids that are listed as running; the others listed have failed."""
    items = api.get("/v1/sandboxes?pageSize=200").json()["items"]
    states = {item["id"]: item["status"]["state"] for item in items}
    assert set(states.values()) <= {"Running", "Failed"}, states
    return {one for one, name in states.items() if name == "Running"}


def delete_all(api):
    while ids := api.ids():
        for one in ids:
            api.request("DELETE", f"/v1/sandboxes/{one}")


def state(box):
    """All that a client is told of it."""
    reply = box.get()
    assert reply.status == 200, reply
    return reply.json()


@pytest.mark.parametrize("victims", VICTIMS.values(), ids=VICTIMS)
def test_what_was_acknowledged_is_there_and_the_same(service, victims):
    daemon = service("--private")
    api = daemon.api()
    boxes = [
        api.create(timeout=600, metadata={"n": "1", "team": "a.b"}),
        api.create(env={"KEPT": "yes"}),
        api.create(resourceLimits={"cpu": "250m", "memory": "64Mi"}),
    ]
    before = [state(box) for box in boxes]
    boxes[0].upload(({"path": "/workspace/x"}, b"kept\0bytes"))
    boxes[1].command("echo it >/root/y")
    strike(daemon, victims)
    assert [state(box) for box in boxes] == before
    assert sorted(api.ids()) == sorted(box.id for box in boxes)
    assert boxes[0].download("/workspace/x").body == b"kept\0bytes"
    events = boxes[1].command("cat /root/y; echo $KEPT")
    texts = [e["text"] for e in events if e["type"] == "stdout"]
    assert texts == ["it", "yes"]
    assert boxes[2].run("echo", "hi").stdout == b"hi\n"
    for box in boxes:
        assert box.delete().status == 204
    assert api.ids() == [] and inits(daemon) == []


@pytest.mark.parametrize("victims", VICTIMS.values(), ids=VICTIMS)
def test_running_commands_go_on_and_their_logs_have_no_gap(service, victims):
    daemon = service("--private")
    box = daemon.api().create()
    undisturbed = box.start("for i in 1 2 3; do :; done; " + NUMBERS)
    assert box.wait_ended(undisturbed)["exit_code"] == 7
    want = box.log(undisturbed)
    ids = [box.start(NUMBERS) for _ in range(3)]
    streaming = box.command_stream(NUMBERS)
    events = streaming.events()
    streamed = next(events)["text"]
    time.sleep(0.5)
    strike(daemon, victims)
    assert all(box.status(one)["running"] for one in ids)
    for one in ids:
        status = box.wait_ended(one)
        assert (status["exit_code"], status["verdict"]) == (7, "exited")
        assert status["error"] == "exit status 7"
        assert 1800 < status["wall_ms"] < 8000
        assert box.log(one) == want
    assert box.wait_ended(streamed)["exit_code"] == 7
    events = list(box.follow(streamed).events())
    for kind, word in ("stdout", "line"), ("stderr", "error"):
        lines = [e["text"] for e in events if e["type"] == kind]
        assert lines[:60] == [f"{word} {i}" for i in range(1, 61)]
    assert events[-1]["error"]["evalue"] == "7"


def test_results_of_what_ended_while_nobody_was_there(service):
    daemon = service("--private")
    box = daemon.api().create()
    exits = box.start("sleep 0.4; echo last words; exit 42")
    dies = box.start("sleep 0.4; kill -9 $$")
    timeout = box.start("sleep 300", timeout=400)
    forks = box.start("sleep 0.3; sleep 300.061 & exit 3")
    daemon.kill("osbd", "broker")
    time.sleep(1)
    daemon.restart()
    status = box.wait_ended(exits, 1)
    assert (status["exit_code"], status["verdict"]) == (42, "exited")
    assert 350 < status["wall_ms"] < 900, "as it was, not when it was heard of"
    assert box.log(exits) == b"last words\n"
    status = box.wait_ended(dies, 1)
    assert (status["exit_code"], status["verdict"]) == (-1, "signaled")
    assert box.wait_ended(timeout, 1)["verdict"] == "wall_timeout"
    assert box.wait_ended(forks, 1)["exit_code"] == 3
    # And only once: the next osbd has it from its own records.
    before = box.status(exits)
    strike(daemon, ("osbd",))
    assert box.status(exits) == before


def test_random_order_with_commands_running(service, long_run):
    daemon = service("--private")
    order = random.Random(7)
    api = daemon.api()
    boxes, commands = [], {}
    for i in range(30 if long_run else 7):
        if len(boxes) < 6:
            boxes.append(api.create(metadata={"i": str(i)}, timeout=900))
        box = order.choice(boxes)
        one = box.start(f"sleep {order.random()}; echo {i}; exit {i}")
        commands[one] = (box, i)
        before = {box.id: state(box) for box in boxes}
        if i % 3 == 2:
            time.sleep(1.1)  # a third early death would end the broker
        strike(daemon, order.choice(list(VICTIMS.values())))
        assert {box.id: state(box) for box in boxes} == before
    assert sorted(api.ids()) == sorted(box.id for box in boxes)
    for one, (box, i) in commands.items():
        assert box.wait_ended(one)["exit_code"] == i
        assert box.log(one) == f"{i}\n".encode()


@pytest.mark.parametrize("victims", VICTIMS.values(), ids=VICTIMS)
def test_one_that_is_bound_to_its_client_dies(service, victims):
    daemon = service("--private")
    api = daemon.api()
    kept = api.create()
    body = {"image": {"uri": "host"}, "entrypoint": ["sleep", "infinity"],
            "resourceLimits": {}, "extensions": {"osb.bind": "connection"}}  # fmt: skip
    stream = api.stream("POST", "/v1/sandboxes", body)
    assert stream.status == 202
    bound = json.loads(stream.response.read())["id"]
    websocket = api.create()
    running = websocket.exec("sleep", "300.062", bind=True)
    running.wait_started()
    assert len(inits(daemon)) == 3
    strike(daemon, victims)
    procs.wait_for(lambda: len(inits()) == 1, 2, "two have ended")
    assert procs.with_argument("300.062") == []
    assert api.ids() == [kept.id]
    assert api.get(f"/v1/sandboxes/{bound}").status == 404
    stream.close()
    running.ws.shutdown()


def shorten(daemon, box, seconds):
    """As if its timeout had been that short, which no client may ask for.

    To init a newer connection is a newer osbd; in osbd's absence its records
    are anybody's who is root.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.connect(f"{daemon.run_dir}/s/{box.id}.sock")
        while struct.unpack_from("I", sock.recv(4096))[0] != INIT_SYNCED:
            pass
        sock.send(struct.pack("IIQ", INIT_LIFE, 1, int(seconds * 1000) + 500))
    sql = sqlite3.connect(daemon.run_dir / "state/osbd/osbd.db")
    with sql:
        changed = sql.execute(
            "UPDATE sandboxes SET expires_us = ? WHERE id = ?",
            (int((time.time() + seconds) * 1e6), box.id),
        )
        assert changed.rowcount == 1
    sql.close()


def test_one_whose_time_passes_while_nobody_is_there(service):
    daemon = service("--private")
    api = daemon.api()
    box = api.create()
    short = api.create(timeout=60)
    short.start("sleep 300.063")
    pid = init_of("300.063")
    daemon.kill("osbd", "broker")
    expires = time.time() + 1.5
    shorten(daemon, short, 1.5)
    time.sleep(0.2)
    assert procs.is_alive(pid)
    procs.wait_for(lambda: not procs.is_alive(pid), 10, "it ends by itself")
    assert -0.1 < time.time() - expires < 1.0
    assert procs.with_argument("300.063") == []
    daemon.restart()
    assert api.ids() == [box.id]
    assert short.get().status == 404
    procs.wait_for(
        lambda: not glob.glob(f"{daemon.run_dir}/s/{short.id}*"), 2, "reaped"
    )
    assert len(glob.glob(f"{daemon.run_dir}/s/*")) == 1


def test_one_whose_time_passes_after_a_restart(service):
    daemon = service("--private")
    api = daemon.api()
    box = api.create(timeout=60)
    daemon.kill("osbd", "broker")
    shorten(daemon, box, 2)
    daemon.restart()
    assert api.ids() == [box.id]
    api.wait_gone(4)
    assert inits(daemon) == []


@pytest.mark.parametrize("victims", VICTIMS.values(), ids=VICTIMS)
def test_half_made_ones_are_removed(service, victims, long_run):
    """Killed in the middle of creates: all that is listed works, all that
    answered is listed, and nothing runs that isn't."""
    daemon = service("--private")
    api = daemon.api()
    for i in range(8 if long_run else 4):
        acknowledged, stop = [], threading.Event()

        def create():
            while not stop.is_set() and len(acknowledged) < 150:  # a page
                try:
                    acknowledged.append(api.create())
                except (OSError, http.client.HTTPException):
                    return

        workers = [threading.Thread(target=create) for _ in range(3)]
        for worker in workers:
            worker.start()
        time.sleep(0.02 + 0.03 * i)
        daemon.kill(*victims)
        stop.set()
        for worker in workers:
            worker.join()
        if "broker" in victims:
            daemon.restart()
        there = running(api)
        lost = {box.id for box in acknowledged} - there
        assert not lost, (i, len(acknowledged), len(there), daemon.log())
        procs.wait_for(
            lambda: len(inits()) == len(there), 5, "as many as are listed"
        )
        assert {f"{one}.sock" for one in there} == set(
            os.listdir(daemon.run_dir / "s")
        )
        for one in there:
            reply = api.stream(
                "POST",
                f"/sandboxes/{one}/proxy/44772/command",
                {"command": "echo works"},
            )
            assert b"works" in reply.raw()
        delete_all(api)
        if i % 2:
            time.sleep(1.1)
    assert inits() == []


def test_a_stopped_broker_that_is_killed_in_a_create(service):
    """SIGSTOP in the middle, then SIGKILL: nothing of it is left."""
    daemon = service("--private")
    api = daemon.api()
    kept = api.create()
    for delay in (0.0005, 0.001, 0.002, 0.004):

        def create():
            with contextlib.suppress(OSError, http.client.HTTPException):
                api.create()

        worker = threading.Thread(target=create)
        worker.start()
        time.sleep(delay)
        os.kill(daemon.pid, signal.SIGSTOP)
        time.sleep(0.05)
        daemon.kill("broker")
        worker.join()
        daemon.restart()
        there = running(api)
        procs.wait_for(
            lambda: len(inits()) == len(there), 5, "as many as are listed"
        )
        for one in set(api.ids()) - {kept.id}:
            api.request("DELETE", f"/v1/sandboxes/{one}")
    assert kept.run("echo", "fine").stdout == b"fine\n"
    assert len(inits()) == 1


def test_a_create_after_adoption_uses_the_same_block(service):
    daemon = service("--private", config=BLOCKS)
    api = daemon.api()
    kept = api.create()
    kept.start("sleep 300.064")
    first = init_of("300.064")
    assert block_of(first) in (0, 1)
    slots = {procs.status(first)["Uid"]}
    for i in range(20):
        daemon.kill("broker")
        daemon.restart()
        box = api.create()
        box.start(f"sleep 300.65{i}")
        pid = init_of(f"300.65{i}")
        assert block_of(pid) == block_of(first)
        slots.add(procs.status(pid)["Uid"])
        if i % 3:
            box.delete()
    assert len(slots) > 5, "nor are two in one slot"
    assert len(inits()) == len(api.ids()) == 8
    delete_all(api)
    assert inits() == []


@pytest.mark.parametrize("victims", VICTIMS.values(), ids=VICTIMS)
def test_a_layer_on_disk_survives(service, victims):
    daemon = service("--private")
    before = set(glob.glob("/dev/loop[0-9]*"))
    layers = set(glob.glob("/var/lib/opensandbox/layers/*"))
    box = daemon.api().create(
        resourceLimits={"memory": "128Mi", "disk": "1Gi", "cpu": "1"}
    )
    box.command("seq 1000000 >/workspace/x; sync; sha256sum /workspace/x >/tmp/s")
    strike(daemon, victims)
    events = box.command("sha256sum -c /tmp/s && df -k /workspace | tail -1")
    texts = [e["text"] for e in events if e["type"] == "stdout"]
    assert texts[0] == "/workspace/x: OK", events
    assert int(texts[1].split()[1]) > 900 << 10, texts
    assert box.delete().status == 204
    procs.wait_for(
        lambda: set(glob.glob("/dev/loop[0-9]*")) <= before, 10, "no loop device"
    )
    assert set(glob.glob("/var/lib/opensandbox/layers/*")) <= layers


def test_keep_leaves_them_to_the_next_broker(service):
    daemon = service("--private", "--keep")
    api = daemon.api()
    box = api.create(metadata={"a": "b"})
    before = state(box)
    running = box.start("sleep 1; echo after; exit 5")
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(6) == 0
    assert len(inits()) == 1
    daemon.restart()
    assert state(box) == before
    assert box.wait_ended(running)["exit_code"] == 5
    assert box.log(running) == b"after\n"


def test_without_keep_all_is_ended(service):
    daemon = service("--private")
    box = daemon.api().create()
    box.start("sleep 300.066")
    init_of("300.066")
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(6) == 0
    assert inits() == [] and procs.with_argument("300.066") == []
    assert os.listdir(daemon.run_dir / "s") == []
    daemon.restart()
    # Its record tells that it ended, until somebody deletes it.
    for one in daemon.api().ids():
        assert state(box)["status"]["state"] == "Failed"
        assert box.delete().status == 204
    assert daemon.api().ids() == []


def hold_state(daemon):
    """As an osbd does that hasn't ended yet."""
    lock = open(daemon.run_dir / "state/osbd/osbd.lock", "rb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def test_an_osbd_that_takes_its_time_to_end_is_waited_for(service):
    daemon = service("--private")
    box = daemon.api().create()
    daemon.kill("osbd", "broker")
    with hold_state(daemon) as lock:
        threading.Timer(1, lambda: fcntl.flock(lock, fcntl.LOCK_UN)).start()
        daemon.restart()
    assert box.run("echo", "there").stdout == b"there\n"


def test_a_broker_that_gives_up_ends_nothing(service):
    """Its osbd can't start; when the reason is gone, all is as it was."""
    daemon = service("--private")
    box = daemon.api().create()
    running = box.start("sleep 300.069")
    before = state(box)
    daemon.kill("osbd", "broker")
    database = daemon.run_dir / "state/osbd/osbd.db"
    database.rename(daemon.home / "kept")
    database.mkdir()
    argv = daemon.process.args
    done = subprocess.run(
        [arg for arg in argv if not arg.isdigit() and arg != "--ready-fd"],
        env=osb.clean_env(), capture_output=True, timeout=20,
    )  # fmt: skip
    assert done.returncode == 1, done
    assert b"osbd dies as soon as it starts" in done.stderr, done
    assert len(inits()) == 1
    database.rmdir()
    (daemon.home / "kept").rename(database)
    daemon.restart()
    assert state(box) == before
    assert box.status(running)["running"]


def test_an_adopted_one_that_dies_is_seen(service):
    daemon = service("--private")
    box = daemon.api().create()
    running = box.start("sleep 300.067")
    pid = init_of("300.067")
    strike(daemon, ("broker",))
    os.kill(pid, signal.SIGKILL)
    procs.wait_for(
        lambda: state(box)["status"]["state"] == "Failed", 2, "it is told"
    )
    status = box.wait_ended(running)
    assert status["verdict"] == "lost" and "exit_code" not in status
    assert box.delete().status == 204


def test_one_that_died_while_nobody_was_there_is_told(service):
    daemon = service("--private")
    box = daemon.api().create()
    running = box.start("sleep 300.068")
    pid = init_of("300.068")
    daemon.kill("osbd", "broker")
    os.kill(pid, signal.SIGKILL)
    procs.wait_for(lambda: not procs.is_alive(pid), 2, "it is dead")
    daemon.restart()
    assert state(box)["status"]["state"] == "Failed"
    assert box.wait_ended(running, 2)["verdict"] == "lost"
    assert box.delete().status == 204
