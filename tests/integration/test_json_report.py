# SPDX-License-Identifier: Apache-2.0
"""osb run --json: one object that tells how the run went; osb exits 0."""

import base64

KEYS = {
    "stdout", "stderr", "encoding", "verdict", "exit_code", "signal",
    "wall_ms", "cpu_ms", "peak_memory_bytes", "peak_pids", "truncated",
    "left_running", "limits_hit", "message", "output_bytes",
}  # fmt: skip


def report(daemon, *args, **kwargs):
    done = daemon.run("--json", *args, **kwargs)
    assert done.code == 0, done
    assert done.out.count("\n") <= 1, "one object, one line"
    found = done.json()
    assert set(found) == KEYS
    return found


def test_a_program_that_exits(daemon):
    got = report(daemon, "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert got["verdict"] == "exited"
    assert (got["exit_code"], got["signal"]) == (7, None)
    assert (got["stdout"], got["stderr"]) == ("out\n", "err\n")
    assert got["encoding"] == "utf-8"
    assert got["truncated"] is False
    assert got["left_running"] == []
    assert got["limits_hit"] == []
    assert got["message"]
    assert 0 < got["wall_ms"] < 5000
    assert 0 < got["peak_memory_bytes"] <= 512 << 20
    assert got["peak_pids"] >= 1


def test_bytes_that_are_no_utf8_come_as_base64_on_both_streams(daemon):
    script = "printf 'a\\0\\377b'; printf fine >&2"
    got = report(daemon, "--", "sh", "-c", script)
    assert got["encoding"] == "base64"
    assert base64.b64decode(got["stdout"]) == b"a\0\377b"
    assert base64.b64decode(got["stderr"]) == b"fine"


def test_unicode_comes_as_it_is(daemon):
    got = report(daemon, "--", "printf", "é\u2028𝄞\x01\"\\")
    assert got["encoding"] == "utf-8"
    assert got["stdout"] == "é\u2028𝄞\x01\"\\"


def test_a_signal(daemon):
    got = report(daemon, "--", "sh", "-c", "kill -SEGV $$")
    assert got["verdict"] == "signaled"
    assert (got["exit_code"], got["signal"]) == (None, "SIGSEGV")


def test_a_wall_timeout(daemon):
    got = report(daemon, "--timeout", "500ms", "--", "sh", "-c", "echo a; sleep 9")
    assert got["verdict"] == "wall_timeout"
    assert got["exit_code"] is None
    assert got["stdout"] == "a\n"
    assert 450 <= got["wall_ms"] < 1000
    assert "timeout" in got["message"] or "time" in got["message"]


def test_out_of_memory(daemon):
    got = report(
        daemon, "--memory", "64Mi", "--", "/usr/bin/python3", "-c",
        "x = bytearray(200 << 20)",
    )  # fmt: skip
    assert got["verdict"] == "oom"
    assert got["signal"] == "SIGKILL"
    assert "memory" in got["limits_hit"]
    assert 32 << 20 < got["peak_memory_bytes"] <= 65 << 20


def test_a_child_that_runs_out_of_memory_is_a_hit_not_the_verdict(daemon):
    script = (
        "import os, subprocess, sys\n"
        "r = subprocess.run([sys.executable, '-c', 'x=bytearray(200<<20)'])\n"
        "print(r.returncode)\n"
    )
    got = report(
        daemon, "--memory", "64Mi", "--", "/usr/bin/python3", "-c", script
    )
    assert got["stdout"] == "-9\n"
    assert (got["verdict"], got["exit_code"]) == ("exited", 0)
    assert got["limits_hit"] == ["memory"]


def test_the_pids_limit_is_a_hit(daemon):
    script = (
        "import os\n"
        "try:\n"
        "    for i in range(100):\n"
        "        if os.fork() == 0: os.execvp('sleep', ['sleep', '5'])\n"
        "except OSError as e: print(e.errno)\n"
    )
    got = report(daemon, "--pids", "16", "--", "/usr/bin/python3", "-c", script)
    assert got["stdout"] == "11\n"
    assert "pids" in got["limits_hit"]
    # An exec may use a little less than the sandbox, so that `echo` always can.
    assert 8 <= got["peak_pids"] <= 16
    assert got["verdict"] == "exited"
    assert got["left_running"] == []


def test_a_full_disk_is_a_hit_and_enospc(daemon):
    script = "head -c 20M /dev/zero >big; echo $?; rm big; echo x >y && cat y"
    got = report(daemon, "--disk", "8Mi", "--", "sh", "-c", script)
    assert "No space left on device" in got["stderr"]
    assert got["stdout"].endswith("x\n")


def test_left_running_names_who_stayed(daemon):
    got = report(daemon, "--", "sh", "-c", "sleep 300 & sleep 0.1; exit 0")
    assert [entry["name"] for entry in got["left_running"]] == ["sleep"]
    assert got["left_running"][0]["pid"] > 1


def test_cpu_time_is_counted_of_all_processes(daemon):
    script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    got = report(daemon, "--", "sh", "-c", f"({script}) & wait; true")
    assert got["cpu_ms"] > 20
    got = report(daemon, "--", "sleep", "0.3")
    assert got["cpu_ms"] < 150
    assert got["wall_ms"] >= 300


def test_a_program_that_never_ran(daemon):
    got = report(daemon, "--", "no-such-program")
    assert (got["verdict"], got["exit_code"]) == ("exited", 127)
    assert "no-such-program" in got["message"]


def test_our_own_error_is_125_with_no_object(daemon):
    done = daemon.run("--json", "--memory", "12q", "--", "true")
    assert (done.code, done.stdout) == (125, b"")
