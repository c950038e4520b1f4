# SPDX-License-Identifier: Apache-2.0
"""Commands in the background: start, status, logs by cursor, events from any
place, delete. And what none of them may cost the daemon."""

import collections
import contextlib
import json
import os
import random
import signal
import socket
import threading
import time

import pytest

import procs

UNKNOWN = "0" * 32


def of_kind(events, kind):
    return [event for event in events if event["type"] == kind]


def texts(events, kind):
    return [event["text"] for event in of_kind(events, kind)]


def test_it_answers_at_once_with_an_id_and_no_output(sandbox):
    start = time.monotonic()
    events = sandbox.command("echo out; sleep 300.041", background=True)
    assert time.monotonic() - start < 0.5
    assert [e["type"] for e in events] == ["init", "execution_complete"]
    assert len(events[0]["text"]) == 32
    status = sandbox.status(events[0]["text"])
    assert status["running"] is True
    assert status["content"] == "echo out; sleep 300.041"
    assert set(status) == {
        "id", "content", "running", "background", "started_at"
    }  # fmt: skip
    assert status["background"] is True
    assert sandbox.forget(events[0]["text"]).status == 204


def test_status_after_the_end(sandbox):
    for script, code, error in (
        ("true", 0, None),
        ("exit 3", 3, "exit status 3"),
        ("kill -TERM $$", -1, "signal: terminated"),
        ("no-such-command", 127, "exit status 127"),
    ):
        status = sandbox.wait_ended(sandbox.start(script))
        assert status["exit_code"] == code, status
        assert status.get("error") == error
        assert status["started_at"] <= status["finished_at"]
        assert status["truncated"] is False
        assert None not in status.values()


def test_a_command_in_the_foreground_has_a_status_too(sandbox):
    events = sandbox.command("echo out; echo err >&2; exit 4")
    status = sandbox.status(events[0]["text"])
    assert (status["running"], status["exit_code"]) == (False, 4)
    assert sandbox.log(events[0]["text"]) == b"out\nerr\n"


def test_logs_by_cursor_to_the_end(sandbox):
    script = "for i in $(seq 40); do echo line $i; sleep 0.02; done"
    command = sandbox.start(script)
    whole, cursor, polls = b"", 0, 0
    while True:
        running = sandbox.status(command)["running"]
        piece, after = sandbox.logs(command, cursor)
        assert after == cursor + len(piece)
        whole, cursor, polls = whole + piece, after, polls + bool(piece)
        if not running and not piece:
            break
        time.sleep(0.03)
    assert whole == b"".join(b"line %d\n" % i for i in range(1, 41))
    assert polls > 5, "it came while it ran"
    for at in (0, 1, len(whole) - 1, len(whole)):
        assert sandbox.logs(command, at) == (whole[at:], len(whole))


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "-1", "1x", "0x1", "%20", "1%2C2", "99999999999999999999999999",
     str(1 << 63)],
)  # fmt: skip
def test_a_bad_cursor_is_0(sandbox, cursor):
    command = sandbox.start("echo hello")
    sandbox.wait_ended(command)
    assert sandbox.logs(command, cursor) == (b"hello\n", 6)


def test_a_cursor_behind_the_end_stays(sandbox):
    command = sandbox.start("echo hello")
    sandbox.wait_ended(command)
    assert sandbox.logs(command, 1000) == (b"", 1000)


def test_streams_are_merged_in_their_order(sandbox):
    script = "for i in $(seq 300); do echo o$i; echo e$i >&2; done"
    command = sandbox.start(script)
    sandbox.wait_ended(command)
    want = "".join(f"o{i}\ne{i}\n" for i in range(1, 301)).encode()
    assert sandbox.log(command) == want


def test_a_log_over_the_size_of_an_answer_comes_in_parts(sandbox):
    command = sandbox.start("head -c 20000000 /dev/zero | tr '\\0' x")
    sandbox.wait_ended(command)
    first, cursor = sandbox.logs(command)
    assert 0 < len(first) < 20000000
    assert len(sandbox.log(command)) == 20000000


@pytest.mark.parametrize("command", [UNKNOWN, "x", "..", "%2e%2e", "a" * 300])
def test_an_unknown_id_is_404(sandbox, command):
    for method, path in (
        ("GET", f"/command/status/{command}"),
        ("GET", f"/command/{command}/logs"),
        ("GET", f"/command/{command}/events"),
        ("DELETE", f"/command/{command}"),
    ):
        reply = sandbox.api.request(method, sandbox.proxy(path))
        assert reply.status == 404, (path, reply)
        assert set(reply.json()) == {"code", "message"}


def test_the_command_of_another_sandbox_is_unknown(daemon, sandbox):
    command = sandbox.start("sleep 1")
    other = daemon.api().create()
    reply = other.api.get(other.proxy(f"/command/status/{command}"))
    assert reply.status == 404
    assert other.forget(command).status == 404
    assert sandbox.status(command)["running"]
    other.delete()


def test_an_interrupt(sandbox):
    command = sandbox.start("trap 'echo got it; exit 9' TERM; sleep 300 & wait")
    procs.wait_for(lambda: sandbox.status(command)["running"], 2)
    time.sleep(0.2)  # for its trap
    reply = sandbox.api.request(
        "DELETE", sandbox.proxy(f"/command?id={command}")
    )
    assert reply.status == 200
    status = sandbox.wait_ended(command, 2)
    assert (status["exit_code"], status["error"]) == (9, "exit status 9")
    assert sandbox.log(command) == b"got it\n"
    reply = sandbox.api.request(
        "DELETE", sandbox.proxy(f"/command?id={command}")
    )
    assert reply.status == 404


def test_delete_ends_the_whole_tree_and_forgets(daemon, sandbox):
    marker = "300.042"
    command = sandbox.start(
        f"echo hi; (setsid sleep {marker} &) ; trap '' TERM; "
        f"sh -c 'sleep {marker} & sleep {marker}'"
    )
    procs.wait_for(lambda: len(procs.with_argument(marker)) >= 3, 5, "three")
    logs = daemon.run_dir / "state/osbd/logs" / sandbox.id
    assert {path.name for path in logs.iterdir()} >= {command}
    start = time.monotonic()
    assert sandbox.forget(command).status == 204
    assert time.monotonic() - start < 1
    left = [p for p in procs.with_argument(marker) if procs.comm(p) == "sleep"]
    assert left == []
    assert list(logs.glob(f"{command}*")) == []
    for path in (f"status/{command}", f"{command}/logs", f"{command}/events"):
        reply = sandbox.api.get(sandbox.proxy(f"/command/{path}"))
        assert reply.status == 404
    assert sandbox.forget(command).status == 404


def test_delete_of_one_that_ended(sandbox):
    command = sandbox.start("true")
    sandbox.wait_ended(command)
    assert sandbox.forget(command).status == 204
    assert sandbox.forget(command).status == 404


def test_its_followers_hear_of_a_delete(sandbox):
    command = sandbox.start("echo up; sleep 300")
    events = sandbox.follow(command).events()
    while next(events).get("text") != "up":
        pass
    assert sandbox.forget(command).status == 204
    assert list(events)[-1]["error"]["traceback"] == ["signal: killed"]


def test_two_deletes_at_once(sandbox):
    command = sandbox.start("sleep 300")
    replies = []
    workers = [
        threading.Thread(
            target=lambda: replies.append(sandbox.forget(command).status)
        )
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert set(replies) <= {204, 404} and 204 in replies, replies


def test_the_last_hundred_that_ended_are_remembered(daemon):
    box = daemon.api().create()
    lasting = box.start("sleep 300")
    ids = []
    for i in range(101):
        ids.append(box.start(f"exit {i}"))
        box.wait_ended(ids[-1])
    assert box.api.get(box.proxy(f"/command/status/{ids[0]}")).status == 404
    for i, command in enumerate(ids[1:], 1):
        assert box.status(command)["exit_code"] == i
    assert box.status(lasting)["running"], "only those that ended"
    logs = daemon.run_dir / "state/osbd/logs" / box.id
    names = {path.name.split(".")[0] for path in logs.iterdir()}
    assert names == {lasting, *ids[1:]}
    box.delete()
    assert not logs.exists()


def test_a_log_is_cut_at_64_mib_and_the_program_goes_on(daemon):
    box = daemon.api().create()
    command = box.start(
        "yes 0123456789abcde | head -c 70000000; echo done >/tmp/done; sleep 300"
    )
    procs.wait_for(
        lambda: box.download("/tmp/done").status == 200, 60, "it goes on"
    )
    path = daemon.run_dir / "state/osbd/logs" / box.id / command
    assert path.stat().st_size == 64 << 20
    assert box.status(command)["running"]
    box.api.request("DELETE", box.proxy(f"/command?id={command}"))
    status = box.wait_ended(command)
    assert status["truncated"] is True
    tail, cursor = box.logs(command, (64 << 20) - 16)
    assert (tail, cursor) == (b"0123456789abcde\n", 64 << 20)
    assert box.run("echo", "fine").stdout == b"fine\n"
    box.delete()
    assert not path.exists()


def test_several_followers_at_once(sandbox):
    script = "for i in $(seq 50); do echo o$i; echo e$i >&2; sleep 0.01; done"
    stream = sandbox.command_stream(script)
    events = stream.events()
    command = next(events)["text"]
    seen = collections.defaultdict(list)

    def follow(n):
        time.sleep(0.05 * n)
        seen[n] = list(sandbox.follow(command).events())

    workers = [threading.Thread(target=follow, args=(n,)) for n in range(8)]
    for worker in workers:
        worker.start()
    whole = list(events)
    for worker in workers:
        worker.join()
    for kind in ("stdout", "stderr"):
        want = [(e["text"], e["offset"]) for e in of_kind(whole, kind)]
        assert len(want) == 50
        for n in range(8):
            got = [(e["text"], e["offset"]) for e in of_kind(seen[n], kind)]
            assert got == want
    assert all(s[-1]["type"] == "execution_complete" for s in seen.values())
    # And one who comes when all is over.
    late = list(sandbox.follow(command).events())
    assert texts(late, "stdout") == texts(whole, "stdout")
    assert late[-1]["type"] == "execution_complete"


@pytest.mark.memory
@pytest.mark.parametrize("what", ["events", "logs"])
def test_a_reader_that_does_not_read_costs_nothing(service, what):
    daemon = service("--private")
    box = daemon.api().create()
    command = box.start("yes; true")
    osbd = daemon.osbd()
    procs.wait_for(lambda: box.logs(command, 8 << 20)[0], 10, "8 MiB")
    before = procs.memory_kib(osbd, "VmRSS")
    deaf = []
    for _ in range(8):
        sock = daemon.api().connect()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        path = box.proxy(f"/command/{command}/{what}")
        sock.sendall(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        )
        deaf.append(sock)
    slowest = 0
    for _ in range(20):
        start = time.monotonic()
        assert box.command("echo hi")[2]["text"] == "hi"
        assert daemon.api().get("/health").status == 200
        slowest = max(slowest, time.monotonic() - start)
        time.sleep(0.05)
    assert slowest < 1, "neighbours are served"
    grown = procs.memory_kib(osbd, "VmRSS") - before
    assert grown < 8 << 10, f"{grown} KiB for {len(deaf)} of them"
    for sock in deaf:
        sock.close()
    assert box.forget(command).status == 204


def test_news_of_output_leave_room_for_answers(service):
    """Init has more to tell of a flood than an osbd with followers hears."""
    daemon = service("--private")
    for _ in range(6):
        box = daemon.api().create()
        command = box.start("yes; true")
        procs.wait_for(lambda: box.logs(command, 8 << 20)[0], 10, "8 MiB")
        with contextlib.ExitStack() as deaf:
            for _ in range(8):
                sock = deaf.enter_context(daemon.api().connect())
                path = box.proxy(f"/command/{command}/events")
                sock.sendall(
                    f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
                )
            for _ in range(5):
                assert box.command("echo hi")[2]["text"] == "hi"
            assert box.status(command)["running"]
        box.delete()


@pytest.mark.parametrize("what", ["logs", "events"])
def test_output_is_never_taken_for_a_request(daemon, sandbox, what):
    """Not even where the client's next request lay when the log was read."""
    other = daemon.api().create()

    def request(command):
        path = sandbox.proxy(f"/command/{command}/{what}")
        return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()

    forged = f"DELETE {other.path()} HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n"
    command = sandbox.start(
        f"printf '%{len(request('0' * 32))}s{forged}' ''"
    )  # fmt: skip
    sandbox.wait_ended(command)
    answer = daemon.api().raw(
        request(command)
        + b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        + b"X-Fill: " + b"x" * 200 + b"\r\n\r\n"
    )  # fmt: skip
    assert answer.endswith(b'{"status":"healthy"}'), answer
    assert other.get().status == 200
    assert other.delete().status == 204


def test_a_log_that_nobody_takes_is_given_up(service):
    daemon = service("--private", osbd_config="idle_timeout = 1s\n")
    box = daemon.api().create()
    command = box.start("head -c 9000000 /dev/zero")
    box.wait_ended(command)
    path = box.proxy(f"/command/{command}/logs")
    with daemon.api().connect() as sock:
        sock.sendall(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        )
        time.sleep(3)
        got = 0
        with contextlib.suppress(ConnectionResetError):
            while piece := sock.recv(1 << 20):
                got += len(piece)
    assert got < 8 << 20
    assert box.delete().status == 204


# Lines of every kind, on both streams, at random; always the same ones.
MIXED = r"""
import os, random, sys, time
order = random.Random(5)
pieces = [b"plain\n", b"crlf\r\n", b"\r\n", b"\n", b"cr\rafter\n", b"\xff\xfe\n",
          b"caf\xc3", b"\xa9\n", "\u20ac\U0001f600\n".encode(), b"no end, ",
          b"\r", b"x" * 70000 + b"\n", b"\xe2\x82", b"y" * 5000, b"z\r\n"]
for i in range(700):
    os.write(order.choice((1, 1, 2)), order.choice(pieces))
    if i % 20 == 0:
        time.sleep(0.002)
os.write(1, b"the end")
os.write(2, b"of both\r")
"""


def whole_streams(box, command):
    """{kind: [(offset, text)]} of the undisturbed stream."""
    events = list(box.follow(command).events())
    assert events[-1]["type"] in ("execution_complete", "error")
    return {
        kind: [(e["offset"], e["text"]) for e in of_kind(events, kind)]
        for kind in ("stdout", "stderr")
    }


def resume_after_cuts(box, command, order, cuts):
    """Read with that many connections, each cut at a random event."""
    got, at = {"stdout": [], "stderr": []}, {"stdout": 0, "stderr": 0}
    while True:
        stream = box.follow(command, (at["stdout"], at["stderr"]))
        assert stream.status == 200
        left = order.randrange(1, 15) if cuts > 0 else 1 << 60
        cuts -= 1
        for event in stream.events():
            if event["type"] in got:
                got[event["type"]].append((event["offset"], event["text"]))
                at[event["type"]] = event["offset"]
                left -= 1
            elif event["type"] in ("execution_complete", "error"):
                return got, cuts
            if left == 0:
                break
        stream.close()


def test_a_stream_resumes_after_a_hundred_cuts(sandbox):
    sandbox.upload(({"path": "/tmp/mixed.py"}, MIXED.encode()))
    order = random.Random(11)
    events = sandbox.command("python3 /tmp/mixed.py")
    done = events[0]["text"]
    want = whole_streams(sandbox, done)
    assert len(want["stdout"]) > 100 and len(want["stderr"]) > 50
    assert any("\ufffd" in text for _, text in want["stdout"])
    got, left = resume_after_cuts(sandbox, done, order, 50)
    assert left < 0 or left < 45
    assert got == want
    # The same while it runs.
    stream = sandbox.command_stream("python3 /tmp/mixed.py")
    running = next(stream.events())["text"]
    stream.close()
    got, _ = resume_after_cuts(sandbox, running, order, 50)
    assert got == whole_streams(sandbox, running)


def test_every_cut_of_the_bytes_between_cr_and_lf(sandbox):
    """A CRLF that two connections share is one line's end."""
    script = r"printf 'a\r'; sleep 0.2; printf '\nb\r'; sleep 0.2; printf '\rc'"
    events = sandbox.command(script)
    want = whole_streams(sandbox, events[0]["text"])["stdout"]
    assert [text for _, text in want] == ["a", "b", "\n", "c"]
    live = [(e["offset"], e["text"]) for e in of_kind(events, "stdout")]
    for offset, text in want + live:
        resumed = list(sandbox.follow(events[0]["text"], (offset, 0)).events())
        rest = [t for _, t in want[[t for _, t in want].index(text) + 1:]]
        assert texts(resumed, "stdout") == rest, (offset, text)


@pytest.mark.parametrize(
    "start", ["x", "-1", "1,", "1,x", ",1", "1,2,3", "1 ", str(1 << 63)]
)
def test_a_place_that_is_none_is_refused(sandbox, start):
    command = sandbox.start("echo hi")
    reply = sandbox.api.get(
        sandbox.proxy(
            f"/command/{command}/events?from={start.replace(' ', '%20')}"
        )
    )
    assert (reply.status, reply.json()["code"]) == (400, "INVALID_QUERY")


def test_a_place_behind_the_end_is_the_end(sandbox):
    command = sandbox.start("echo hi")
    sandbox.wait_ended(command)
    events = list(sandbox.follow(command, (1000, 1000)).events())
    assert texts(events, "stdout") == []
    assert events[-1]["type"] == "execution_complete"


def test_an_entrypoint_that_does_something_runs_and_outlives_osbd(service):
    daemon = service("--private")
    api = daemon.api()
    box = api.create(
        entrypoint=["sh", "-c", "while date +%N >/tmp/new; do "
                    "mv /tmp/new /tmp/now; sleep 0.05; done"]
    )

    def now():
        return box.download("/tmp/now").body

    procs.wait_for(now, 3, "it writes")
    for _ in range(2):
        os.kill(daemon.osbd(), signal.SIGKILL)
        api.get("/health")
        before = now()
        procs.wait_for(lambda: now() not in (before, b""), 2, "it goes on")
        time.sleep(1)
    assert box.delete().status == 204


def test_an_entrypoint_that_cannot_run_leaves_a_sandbox(daemon):
    box = daemon.api().create(entrypoint=["/no/such/program"])
    assert box.run("echo", "fine").stdout == b"fine\n"
    assert box.delete().status == 204


def costs(pid):
    """What a process holds that a timer or a connection would show in."""
    return (
        len(procs.links(pid, "fd")),
        len(os.listdir(f"/proc/{pid}/task")),
        procs.read(pid, "timers"),
    )


def test_instant_commands_with_long_timeouts_leave_nothing(service):
    daemon = service("--private")
    box = daemon.api().create()
    osbd = daemon.osbd()
    (init,) = [
        pid
        for pid in daemon.children("osb-init")
        if len(procs.status(pid)["NSpid"].split()) == 2
    ]
    for _ in range(2):  # first use
        box.wait_ended(box.start("true", timeout=3600_000))
    before = costs(osbd), costs(init)
    for _ in range(20):
        box.wait_ended(box.start("true", timeout=3600_000))
    # Less is fine: a connection that was just ending when they were counted.
    procs.wait_for(
        lambda: all(
            now <= then
            for pid, old in zip((osbd, init), before)
            for now, then in zip(costs(pid), old)
        ),
        2,
        "no more than before",
    )
    armed = [
        procs.read(init, f"fdinfo/{fd}").split("it_value:")[1].split("\n")[0]
        for fd, what in procs.links(init, "fd").items()
        if "timerfd" in what
    ]
    assert armed == [" (0, 0)"], "no deadline is waited for"
    # What they were is known to the next osbd, without a trace in init.
    os.kill(osbd, signal.SIGKILL)
    daemon.api().get("/health")
    assert box.delete().status == 204


def test_what_a_bad_request_starts_is_nothing(sandbox):
    for body in (
        {"command": "true", "background": "yes"},
        {"command": "true", "background": 1},
        {"command": "", "background": True},
        {"command": "true", "background": True, "cwd": "/not/there"},
    ):
        reply = sandbox.api.request("POST", sandbox.proxy("/command"), body)
        assert reply.status == 400, reply
        assert set(json.loads(reply.body)) == {"code", "message"}
