# SPDX-License-Identifier: Apache-2.0
"""POST /command: bare JSON events in the order that clients parse."""

import collections
import json
import re
import threading
import time

import pytest

import procs


def texts(events, kind):
    return [event["text"] for event in events if event["type"] == kind]


def types(events):
    return [event["type"] for event in events]


def test_echo_is_init_ping_one_stdout_complete(sandbox):
    events = sandbox.command("echo hello")
    assert types(events) == ["init", "ping", "stdout", "execution_complete"]
    assert re.fullmatch("[0-9a-f]{32}", events[0]["text"])
    assert events[1]["text"] == "pong"
    assert events[2]["text"] == "hello"
    now = time.time() * 1000
    for event in events:
        assert isinstance(event["timestamp"], int)
        assert abs(now - event["timestamp"]) < 5000
        assert None not in event.values()


def test_the_framing_is_bare_json_and_a_blank_line(sandbox):
    stream = sandbox.command_stream("echo hello")
    assert stream.status == 200
    assert stream.headers["Content-Type"].split(";")[0] == "text/event-stream"
    assert stream.headers["Cache-Control"] == "no-cache"
    assert stream.headers["X-Accel-Buffering"] == "no"
    assert stream.headers["X-Request-ID"]
    raw = stream.raw()
    assert raw.endswith(b"}\n\n")
    for block in raw[:-2].split(b"\n\n"):
        assert block.startswith(b"{") and b"\n" not in block
        json.loads(block)


def test_a_failure_is_an_error_event_and_no_complete(sandbox):
    events = sandbox.command("echo out; echo no >&2; exit 7")
    assert "execution_complete" not in types(events)
    assert types(events)[-1] == "error"
    error = events[-1]["error"]
    assert error["ename"] == "CommandExecError"
    assert error["evalue"] == "7"
    assert error["traceback"] == ["exit status 7"]
    assert texts(events, "stdout") == ["out"]
    assert texts(events, "stderr") == ["no"]


def test_a_command_that_is_not_found_is_127(sandbox):
    events = sandbox.command("no-such-command")
    assert events[-1]["error"]["evalue"] == "127"
    assert "no-such-command" in "".join(texts(events, "stderr"))


@pytest.mark.parametrize(
    "output, expected",
    [
        ("a\\nb\\n", ["a", "b"]),
        ("a\\nb", ["a", "b"]),
        ("a\\n\\nb\\n", ["a", "\n", "b"]),
        ("a\\r\\nb\\r\\n", ["a", "b"]),
        ("1%%\\r2%%\\r3%%\\n", ["1%", "2%", "3%"]),
        ("\\n", ["\n"]),
    ],
)
def test_one_event_per_line(sandbox, output, expected):
    events = sandbox.command(f"printf '{output}'")
    assert texts(events, "stdout") == expected


def test_line_separators_and_html_are_escaped(sandbox):
    script = r"printf '<a>&\302\205\342\200\250\342\200\251\013\014\034.\n'"
    stream = sandbox.command_stream(script)
    raw = stream.raw()
    line = [b for b in raw.split(b"\n\n") if b'"stdout"' in b][0]
    for byte in (b"<", b">", b"&", b"\xc2\x85", b"\xe2\x80\xa8", b"\x0b"):
        assert byte not in line, byte
    text = json.loads(line)["text"]
    assert text == "<a>&\x85\u2028\u2029\x0b\x0c\x1c."


def test_invalid_utf8_becomes_replacement_characters(sandbox):
    events = sandbox.command(r"printf 'a\377\376b\n'")
    assert texts(events, "stdout") == ["a\ufffd\ufffdb"]


def test_a_code_point_across_reads_is_not_split(sandbox):
    events = sandbox.command(
        r"printf '\360\237'; sleep 0.3; printf '\230\200\n'"
    )
    assert "".join(texts(events, "stdout")) == "\U0001f600"


def test_a_long_line_comes_whole_in_bounded_events(sandbox):
    stream = sandbox.command_stream("head -c 3000000 /dev/zero | tr '\\0' x")
    events = list(stream.events())
    assert "".join(texts(events, "stdout")) == "x" * 3000000
    assert max(len(t) for t in texts(events, "stdout")) < 4 << 20


def test_output_arrives_while_the_command_runs(sandbox):
    stream = sandbox.command_stream("echo first; sleep 1; echo second")
    arrived = {}
    for event in stream.events():
        if event["type"] == "stdout":
            arrived[event["text"]] = time.monotonic()
    assert arrived["second"] - arrived["first"] > 0.7


def test_the_stream_closes_at_once(sandbox):
    start = time.monotonic()
    sandbox.command("true")
    assert time.monotonic() - start < 0.5


def test_many_lines_come_in_order_and_complete(sandbox):
    events = sandbox.command("seq 20000")
    assert texts(events, "stdout") == [str(i) for i in range(1, 20001)]


def test_env_cwd_and_user_of_the_request(sandbox):
    events = sandbox.command(
        'echo "$A $B"; pwd; id -u; id -g',
        envs={"A": "1", "B": "x $A y"},
        cwd="/tmp",
        uid=1000,
        gid=1000,
    )
    assert texts(events, "stdout") == ["1 x $A y", "/tmp", "1000", "1000"]


def test_without_a_uid_it_is_root_of_the_sandbox(sandbox):
    assert texts(sandbox.command("id -u"), "stdout") == ["0"]


def test_it_is_bash(sandbox):
    events = sandbox.command("[[ a == a* ]] && echo ${BASH_VERSION:+bash}")
    assert texts(events, "stdout") == ["bash"]


def test_stdin_is_empty(sandbox):
    assert texts(sandbox.command("wc -c"), "stdout") == ["0"]


def test_a_timeout_kills_the_tree_and_says_minus_one(sandbox):
    marker = "300.081"
    start = time.monotonic()
    events = sandbox.command(
        f"echo before; setsid sleep {marker} & sleep {marker}", timeout=500
    )
    assert time.monotonic() - start < 1.0
    assert texts(events, "stdout") == ["before"]
    assert events[-1]["error"]["evalue"] == "-1"
    assert events[-1]["error"]["traceback"] == [
        "signal: killed",
        "timeout after 500 ms",
    ]
    assert "execution_complete" not in types(events)
    assert procs.with_argument(marker) == []


def test_a_quiet_command_is_pinged(sandbox):
    events = sandbox.command("sleep 4.6")
    assert types(events).count("ping") == 2


@pytest.mark.parametrize(
    "body",
    [
        {"command": ""},
        {"command": 7},
        {},
        {"command": "true", "timeout": -1},
        {"command": "true", "timeout": "1"},
        {"command": "true", "gid": 1000},
        {"command": "true", "uid": -1},
        {"command": "true", "uid": 1000, "gid": -1},
        {"command": "true", "cwd": "/not/there"},
        {"command": "true", "cwd": "/etc/passwd"},
        {"command": "true", "envs": [1]},
        {"command": "x" * (9 << 20)},
    ],
    ids=lambda body: str(body)[:40],
)
def test_a_bad_request_is_400_before_any_event(sandbox, body):
    reply = sandbox.api.request("POST", sandbox.proxy("/command"), body)
    assert reply.status in (400, 413), reply
    assert set(reply.json()) == {"code", "message"}
    assert not reply.headers["Content-Type"].startswith("text/event-stream")


def test_an_interrupt_ends_the_stream_with_an_error(sandbox):
    stream = sandbox.command_stream("echo up; sleep 300")
    events = stream.events()
    seen = [next(events)]
    while seen[-1].get("text") != "up":
        seen.append(next(events))
    start = time.monotonic()
    reply = sandbox.api.request(
        "DELETE", sandbox.proxy(f"/command?id={seen[0]['text']}")
    )
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["Content-Length"] == "0"
    seen += list(events)
    assert seen[-1]["type"] == "error"
    assert seen[-1]["error"]["evalue"] == "-1"
    assert seen[-1]["error"]["traceback"] == ["signal: terminated"]
    assert time.monotonic() - start < 2


def test_an_interrupt_of_one_that_ignores_it_kills_after_three_seconds(sandbox):
    stream = sandbox.command_stream("trap '' TERM; echo up; sleep 300; sleep 300")
    events = stream.events()
    first = next(events)
    while next(events).get("text") != "up":
        pass
    start = time.monotonic()
    sandbox.api.request("DELETE", sandbox.proxy(f"/command?id={first['text']}"))
    last = list(events)[-1]
    assert last["error"]["traceback"] == ["signal: killed"]
    assert 2.0 < time.monotonic() - start < 5


def test_an_interrupt_of_nothing_is_refused(sandbox):
    reply = sandbox.api.request("DELETE", sandbox.proxy("/command"))
    assert (reply.status, reply.json()["code"]) == (400, "MISSING_QUERY")
    reply = sandbox.api.request(
        "DELETE", sandbox.proxy(f"/command?id={'0' * 32}")
    )
    assert reply.status in (404, 500), reply


def test_commands_run_side_by_side(sandbox):
    done = []

    def one(i):
        events = sandbox.command(f"sleep 0.5; echo {i}")
        done.append(texts(events, "stdout"))

    workers = [threading.Thread(target=one, args=(i,)) for i in range(4)]
    start = time.monotonic()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(done) == [["0"], ["1"], ["2"], ["3"]]
    assert time.monotonic() - start < 1.5


def test_files_of_one_command_are_there_for_the_next(sandbox):
    sandbox.command("echo kept >/workspace/x; export GONE=1")
    events = sandbox.command("cat /workspace/x; echo ${GONE:-no}")
    assert texts(events, "stdout") == ["kept", "no"]


def test_a_client_that_leaves_does_not_end_the_command(sandbox):
    stream = sandbox.command_stream("sleep 0.5; echo done >/tmp/done")
    next(stream.events())
    stream.close()
    time.sleep(1)
    events = sandbox.command("cat /tmp/done")
    assert texts(events, "stdout") == ["done"]


def test_a_list_has_the_newest_first_and_cut_texts(sandbox):
    first = sandbox.command("true")[0]["text"]
    second = sandbox.command(": " + "\u00fc" * 2000 + "; exit 4")[0]["text"]
    reply = sandbox.api.get(sandbox.proxy("/command"))
    assert reply.status == 200, reply
    items = reply.json()["items"]
    assert [item["id"] for item in items] == [second, first]
    assert items[0]["content"] == ": " + "\u00fc" * 511
    assert items[0]["exit_code"] == 4 and not items[0]["background"]
    assert items[1]["content"] == "true" and not items[1]["running"]
    reply = sandbox.api.get("/sandboxes/" + "0" * 32 + "/proxy/44772/command")
    assert reply.status == 404


def test_a_status_has_the_signal(sandbox):
    command = sandbox.command("kill -SEGV $$")[0]["text"]
    status = sandbox.api.get(sandbox.proxy(f"/command/status/{command}")).json()
    assert (status["signal"], status["exit_code"]) == ("SIGSEGV", -1)
    command = sandbox.command("exit 3")[0]["text"]
    status = sandbox.api.get(sandbox.proxy(f"/command/status/{command}")).json()
    assert "signal" not in status and status["exit_code"] == 3


def test_more_than_init_can_take_is_refused(daemon, sandbox):
    """Long ones, and without a bash: the try of sh may find no room, too."""
    osbd, answers = daemon.osbd(), collections.Counter()
    body = {"command": ":;#" + "x" * 60_000, "envs": {"PATH": "/nowhere"}}

    def ask():
        for _ in range(10):
            reply = daemon.api().request("POST", sandbox.proxy("/command"), body)
            answers[reply.status] += 1

    threads = [threading.Thread(target=ask) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.keys() <= {200, 429, 503}, answers
    assert answers.total() == 240 and daemon.osbd() == osbd
