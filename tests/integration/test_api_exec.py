# SPDX-License-Identifier: Apache-2.0
"""The exec WebSocket: bytes both ways, control, and one last word."""

import json
import os
import time

import pytest
import websocket

import procs

VERDICT_KEYS = {
    "type", "verdict", "exit_code", "signal", "wall_ms", "cpu_ms",
    "peak_memory_bytes", "peak_pids", "truncated", "left_running",
    "limits_hit", "message", "output_bytes",
}  # fmt: skip


def test_a_program_from_start_to_verdict(sandbox):
    done = sandbox.run("sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")
    assert done.pid > 1
    assert set(done.verdict) == VERDICT_KEYS
    assert done.verdict["type"] == "verdict"
    assert done.verdict["verdict"] == "exited"
    assert done.verdict["exit_code"] == 7
    assert done.close_code == 1000


def test_stdin_is_byte_exact_and_ends(sandbox):
    data = os.urandom(300_000)
    with sandbox.exec("cat", stdin=True) as running:
        for at in range(0, len(data), 50_000):
            running.stdin(data[at : at + 50_000])
        running.control(type="stdin_eof")
        running.wait()
    assert running.stdout == data
    assert running.verdict["exit_code"] == 0
    assert running.largest <= 32 * 1024


def test_without_stdin_it_is_dev_null(sandbox):
    assert sandbox.run("wc", "-c").stdout.strip() == b"0"
    assert sandbox.run("readlink", "/proc/self/fd/0").stdout == b"/dev/null\n"


def test_env_cwd_user(sandbox):
    done = sandbox.run(
        "sh", "-c", 'echo "$A"; pwd; id -u', env={"A": "b c"}, cwd="/tmp",
        user="root",
    )  # fmt: skip
    assert done.stdout == b"b c\n/tmp\n0\n"
    assert sandbox.run("id", "-u").stdout == b"1000\n"
    assert sandbox.run("pwd").stdout == b"/workspace\n"


def test_a_signal_goes_to_the_program(sandbox):
    with sandbox.exec("sh", "-c", "trap 'echo got; exit 3' USR1; echo up; "
                      "while :; do sleep 0.05; done") as running:  # fmt: skip
        while running.stdout != b"up\n":
            running.receive()
        running.control(type="signal", signal="SIGUSR1")
        running.wait()
    assert running.stdout == b"up\ngot\n"
    assert running.verdict["exit_code"] == 3


def test_a_signal_that_ends_it_is_signaled(sandbox):
    with sandbox.exec("sleep", "300") as running:
        running.wait_started()
        running.control(type="signal", signal="SIGTERM")
        running.wait()
    assert running.verdict["verdict"] == "signaled"
    assert running.verdict["signal"] == "SIGTERM"
    assert running.verdict["exit_code"] is None


def test_kill_is_killed_and_takes_the_tree(sandbox):
    marker = "300.091"
    script = f"setsid sleep {marker} & sleep {marker}"
    with sandbox.exec("sh", "-c", script) as running:
        procs.wait_for(lambda: len(procs.with_argument(marker)) == 2, 5)
        running.control(type="kill")
        running.wait()
    assert running.verdict["verdict"] == "killed"
    assert procs.with_argument(marker) == []


def test_a_timeout_wins_over_the_signal_it_sends(sandbox):
    done = sandbox.run("sleep", "300", timeout_ms=300)
    assert done.verdict["verdict"] == "wall_timeout"
    assert 250 <= done.verdict["wall_ms"] < 700


def test_a_program_that_is_not_there(sandbox):
    done = sandbox.run("nope")
    assert done.verdict["verdict"] == "exited"
    assert done.verdict["exit_code"] == 127
    assert "nope" in done.verdict["message"]
    assert done.close_code == 1000


def test_a_child_holding_the_pipes_does_not_delay_the_verdict(sandbox):
    start = time.monotonic()
    done = sandbox.run("sh", "-c", "sleep 300 & sleep 0.1; echo started")
    assert time.monotonic() - start < 2
    assert done.stdout == b"started\n"
    assert [entry["name"] for entry in done.verdict["left_running"]] == ["sleep"]


def test_execs_run_side_by_side(sandbox):
    running = [sandbox.exec("sh", "-c", f"sleep 0.3; exit {i}") for i in range(5)]
    codes = [one.wait().verdict["exit_code"] for one in running]
    for one in running:
        one.ws.shutdown()
    assert codes == [0, 1, 2, 3, 4]


BAD_FIRST = [
    {},
    {"argv": []},
    {"argv": "ls"},
    {"argv": [1]},
    {"argv": ["ls"], "env": []},
    {"argv": ["ls"], "env": {"A": 1}},
    {"argv": ["ls"], "env": {"A=B": "x"}},
    {"argv": ["ls"], "cwd": 3},
    {"argv": ["ls"], "user": "who"},
    {"argv": ["ls"], "user": "-1"},
    {"argv": ["ls"], "timeout_ms": -1},
    {"argv": ["ls"], "timeout_ms": "1"},
    {"argv": ["a\0b"]},
    {"argv": ["x"] * 10000},
]


@pytest.mark.parametrize("first", BAD_FIRST, ids=lambda f: str(f)[:40])
def test_a_bad_first_message_is_an_error_and_1008(sandbox, first):
    done = sandbox.exec(**first) if first else sandbox.exec()
    done.wait()
    done.ws.shutdown()
    assert done.verdict["type"] == "error", done.verdict
    assert done.verdict["message"]
    assert done.verdict["code"]
    assert done.close_code == 1008


@pytest.mark.parametrize("text", ["hello", "[]", "null", '{"argv":', "{} {}"])
def test_a_first_message_that_is_no_object(sandbox, text):
    ws = sandbox.api.websocket(sandbox.path("/exec"))
    ws.send(text)
    assert json.loads(ws.recv())["type"] == "error"
    opcode, data = ws.recv_data()
    assert opcode == websocket.ABNF.OPCODE_CLOSE
    assert int.from_bytes(data[:2], "big") == 1008
    ws.shutdown()


def test_a_message_too_large_ends_the_connection(sandbox):
    ws = sandbox.api.websocket(sandbox.path("/exec"))
    try:
        ws.send("x" * (32 << 20))
        while ws.recv_data()[0] != websocket.ABNF.OPCODE_CLOSE:
            pass
    except (BrokenPipeError, ConnectionResetError,
            websocket.WebSocketConnectionClosedException):  # fmt: skip
        pass
    ws.shutdown()
    assert sandbox.get().status == 200


def test_a_plain_get_is_no_upgrade(sandbox):
    reply = sandbox.api.get(sandbox.path("/exec"))
    assert reply.status in (400, 426), reply
    assert set(reply.json()) == {"code", "message"}


def test_a_ping_is_answered(sandbox):
    with sandbox.exec("sleep", "1") as running:
        running.wait_started()
        running.ws.ping("abc")
        opcode, data = running.ws.recv_data(control_frame=True)
        assert (opcode, data) == (websocket.ABNF.OPCODE_PONG, b"abc")


def test_a_stopped_reader_does_not_lose_output(sandbox):
    with sandbox.exec("sh", "-c", "seq 400000") as running:
        time.sleep(1)
        running.wait()
    lines = "".join(f"{i}\n" for i in range(1, 400001))
    assert running.stdout.decode() == lines
