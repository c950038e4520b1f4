# SPDX-License-Identifier: Apache-2.0
"""Each way to end has its verdict, by osb run --json and by the API alike."""

import base64
import datetime
import json
import os
import shlex
import time

import pytest

import osb
import procs

PYTHON = osb.PYTHON
LONG = os.environ.get("OSB_TEST_LONG") == "1"

OPTIONS = {"cpu": "--cpus"}  # where it isn't the limit's name
EXEC_OPTIONS = {
    "cpuTime": "--cpu-time", "output": "--output-max",
    "outputPolicy": "--output-policy",
}  # fmt: skip


def python(source):
    return shlex.join([PYTHON, "-c", source])


class Outcome(dict):
    """A verdict, with stdout and stderr as bytes, and how long it took."""


class Command:
    """osb run --json"""

    def __init__(self, daemon):
        self.daemon = daemon

    def __call__(self, script, limits=None, exec_limits=None, timeout=None):
        options = []
        for key, value in (limits or {}).items():
            options += [OPTIONS.get(key, f"--{key}"), value]
        for key, value in (exec_limits or {}).items():
            options += [EXEC_OPTIONS[key], value]
        if timeout:
            options += ["--timeout", f"{timeout}s"]
        done = self.daemon.run("--json", *options, "--", "bash", "-c", script)
        assert done.code == 0, done
        outcome = Outcome(done.json())
        for key in ("stdout", "stderr"):
            text = outcome.pop(key)
            setattr(outcome, f"{key}_text", text)
            is_text = outcome["encoding"] == "utf-8"
            setattr(outcome, key, text.encode() if is_text
                    else base64.b64decode(text))  # fmt: skip
        outcome.seconds = done.seconds
        return outcome


class Http:
    """POST /command; its last event and its status say the same."""

    def __init__(self, daemon):
        self.api = daemon.api()

    def __call__(self, script, limits=None, exec_limits=None, timeout=None):
        limits = {"memory": "512Mi", **(limits or {})}
        box = self.api.create(resourceLimits=limits)
        try:
            return self.run(box, script, exec_limits, timeout)
        finally:
            box.delete()

    def run(self, box, script, exec_limits=None, timeout=None):
        start = time.monotonic()
        stream = box.command_stream(
            script, limits=exec_limits or {}, timeout=int((timeout or 0) * 1000)
        )
        raw = stream.raw()
        seconds = time.monotonic() - start
        events = [json.loads(block) for block in raw.split(b"\n\n") if block]
        outcome = Outcome(events[-1]["outcome"])
        outcome.seconds, outcome.events = seconds, events
        outcome.stdout_text = "\n".join(
            e["text"] for e in events if e["type"] == "stdout"
        )
        outcome.stdout = box.log(events[0]["text"])  # both streams
        status = box.status(events[0]["text"])
        for key in set(outcome) - {"exit_code", "signal", "message"}:
            assert status[key] == outcome[key], key
        assert status.get("signal") == outcome["signal"]
        by_itself = outcome["verdict"] in ("exited", "pids_limit", "disk_full")
        assert status["exit_code"] == (outcome["exit_code"] if by_itself else -1)
        return outcome


@pytest.fixture(params=[Command, Http], ids=["osb", "api"])
def run(request, daemon):
    return request.param(daemon)


def ended(outcome, verdict, *limits_hit, code=None):
    """The ending, whole: no exit code where we or a signal ended it."""
    found = (outcome["verdict"], outcome["exit_code"], outcome["limits_hit"])
    assert found == (verdict, code, list(limits_hit)), outcome
    return outcome


def test_true_prints_nothing(run):
    outcome = ended(run("true"), "exited", code=0)
    assert (outcome.stdout, outcome.stdout_text) == (b"", "")
    assert outcome["output_bytes"] == 0
    assert outcome["truncated"] is False


def test_out_of_memory(run):
    source = "x=[]; [x.append(b'A'*10**7) for _ in range(1000)]"
    outcome = run(f"exec {python(source)}", {"memory": "64Mi"})
    ended(outcome, "oom", "memory")
    assert outcome["signal"] == "SIGKILL"
    assert 56 << 20 <= outcome["peak_memory_bytes"] <= 65 << 20


def test_memory_of_a_child_is_a_hit_alone(run):
    source = "x = bytearray(200 << 20)"
    script = f"{python(source)} 2>/dev/null; echo $?"
    outcome = ended(run(script, {"memory": "64Mi"}), "exited", "memory", code=0)
    assert outcome.stdout_text.split()[-1] == "137"


def test_out_of_memory_is_137(daemon):
    done = daemon.python("x = bytearray(200 << 20)", "--memory", "64Mi")
    assert done.code == 137, done


BOMB = ":(){ :|:& };:"


def test_a_fork_bomb_leaves_none(run):
    outcome = ended(run(BOMB, {"pids": "64"}), "exited", "pids", code=0)
    assert outcome["left_running"] == []
    assert 32 <= outcome["peak_pids"] <= 64
    assert outcome.seconds < 3


def test_a_sandbox_is_whole_again_after_a_fork_bomb(daemon):
    box = daemon.api().create(resourceLimits={"pids": "64"})
    count = "ls -d /proc/[0-9]* | wc -l"
    before = box.command(count)[2]["text"]
    ended(Http(daemon).run(box, BOMB), "exited", "pids", code=0)
    start = time.monotonic()
    assert box.command("echo ok")[2]["text"] == "ok"
    assert time.monotonic() - start < 1
    procs.wait_for(lambda: box.command(count)[2]["text"] == before, 2, "all end")
    box.delete()


def test_who_fails_for_want_of_processes_hit_the_limit(run):
    source = (
        "import os\n"
        "for i in range(100):\n"
        "    if os.fork() == 0: os.execvp('sleep', ['sleep', '300.0431'])\n"
    )
    outcome = run(f"exec {python(source)}", {"pids": "32"})
    ended(outcome, "pids_limit", "pids", code=1)
    assert outcome["left_running"] == []
    procs.wait_for(lambda: not procs.with_argument("300.0431"), 2, "all end")


def test_who_gets_by_with_fewer_processes_has_exited(run):
    source = (
        "import os\n"
        "try:\n"
        "    for i in range(100):\n"
        "        if os.fork() == 0: os.execvp('sleep', ['sleep', '300.0432'])\n"
        "except OSError: pass\n"
    )
    outcome = run(f"exec {python(source)}", {"pids": "32"})
    ended(outcome, "exited", "pids", code=0)
    assert outcome["left_running"] == []


def test_orphans_are_reaped(run):
    num = 2000 if LONG else 500
    source = (
        "import glob, os, time\n"
        f"for i in range({num}):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        try: os.fork()\n"
        "        finally: os._exit(0)\n"
        "    os.waitpid(pid, 0)\n"
        "end = time.monotonic() + 1\n"
        "def zombies():\n"
        "    found = 0\n"
        "    for path in glob.glob('/proc/[0-9]*/stat'):\n"
        "        try: found += open(path).read().rsplit(')')[-1].split()[0] == 'Z'\n"
        "        except OSError: pass\n"
        "    return found\n"
        "while zombies() and time.monotonic() < end: time.sleep(0.05)\n"
        "print(zombies())\n"
    )
    outcome = run(f"exec {python(source)}", {"pids": "64"})
    assert (outcome["verdict"], outcome.stdout_text.strip()) == ("exited", "0")


def test_a_timeout_reaches_whoever_hides(run):
    script = "setsid -f sh -c 'setsid sleep 300.0433' & sleep 300.0433"
    outcome = ended(run(script, timeout=1), "wall_timeout")
    assert 900 <= outcome["wall_ms"] <= 1300
    assert outcome.seconds < 2
    assert outcome["left_running"] == []
    procs.wait_for(lambda: not procs.with_argument("300.0433"), 1, "all end")


def test_what_is_left_running_is_named(run):
    outcome = run("sleep 300.0434 >&1 & echo done")
    ended(outcome, "exited", code=0)
    assert outcome.stdout == b"done\n"
    assert outcome.seconds < 1
    assert [left["name"] for left in outcome["left_running"]] == ["sleep"]


def test_processor_time_ends_a_busy_loop(run):
    outcome = run("while :; do :; done", exec_limits={"cpuTime": "1s"}, timeout=20)
    ended(outcome, "cpu_timeout")
    assert 1000 <= outcome["cpu_ms"] <= 1500


def test_processor_time_is_that_of_all_processes(run):
    script = "busy() { while :; do :; done; }; busy & setsid -f bash -c 'while :; do :; done'; wait"
    outcome = run(script, exec_limits={"cpuTime": "0.5s"}, timeout=20)
    ended(outcome, "cpu_timeout")
    assert 500 <= outcome["cpu_ms"] <= 1200
    assert outcome["left_running"] == []


def test_who_sleeps_uses_no_processor_time(run):
    outcome = run("sleep 0.7", exec_limits={"cpuTime": "0.3s"})
    ended(outcome, "exited", code=0)


def test_half_a_cpu_is_half_of_the_time(run):
    seconds = 5 if LONG else 2
    outcome = run("while :; do :; done", {"cpu": "0.5"}, timeout=seconds)
    ended(outcome, "wall_timeout")
    assert outcome["cpu_ms"] <= 0.55 * outcome["wall_ms"] + 50


@pytest.mark.parametrize("disk, memory", [("64Mi", "256Mi"), ("160Mi", "128Mi")])
def test_a_full_disk_is_enospc(run, disk, memory):
    script = "dd if=/dev/zero of=f bs=1M 2>&1; r=$?; stat -c %s f; exit $r"
    outcome = run(script, {"disk": disk, "memory": memory})
    ended(outcome, "disk_full", "disk", code=1)
    assert b"No space left on device" in outcome.stdout
    size = int(outcome.stdout.split()[-1])
    limit = int(disk[:-2]) << 20
    assert 0.8 * limit <= size <= limit


def test_empty_files_are_counted(run):
    source = "for i in range(10**6): open(f'{i}', 'x').close()"
    outcome = run(f"exec {python(source)}", {"inodes": "2000"})
    ended(outcome, "disk_full", "inodes", code=1)


def test_who_has_freed_the_disk_again_has_exited(run):
    script = "head -c 20M /dev/zero >f; rm f; exit 3"
    ended(run(script, {"disk": "8Mi"}), "exited", code=3)


def test_too_much_output_ends_it(run):
    limits = {"output": "1Mi", "outputPolicy": "kill"}
    script = "yes $(printf %01000d 0)"
    outcome = ended(run(script, exec_limits=limits, timeout=10), "output_limit", "output")
    assert outcome["truncated"] is True
    assert outcome["output_bytes"] == len(outcome.stdout) == 1 << 20
    assert outcome.seconds < 5


def test_output_may_be_dropped_instead(run):
    script = "yes $(printf %01000d 0) | head -c 5000000; exit 4"
    outcome = run(script, exec_limits={"output": "1Mi"})
    ended(outcome, "exited", "output", code=4)
    assert outcome["truncated"] is True
    assert len(outcome.stdout) == 1 << 20


def test_or_it_waits(run):
    limits = {"output": "1Mi", "outputPolicy": "back-pressure"}
    script = "yes $(printf %01000d 0)"
    outcome = run(script, exec_limits=limits, timeout=0.7)
    ended(outcome, "wall_timeout", "output")
    assert len(outcome.stdout) == 1 << 20
    assert outcome["cpu_ms"] < 300


@pytest.mark.parametrize("policy, verdict, code", [
    ("truncate", "exited", 0),
    ("kill", "output_limit", 0),
    ("back-pressure", "exited", 0),
])  # fmt: skip
def test_the_limit_itself_is_no_hit(run, policy, verdict, code):
    limits = {"output": "4000", "outputPolicy": policy}
    for num, more in ((3999, False), (4000, False), (4001, True)):
        script = f"exec head -c {num} /dev/zero"
        outcome = run(script, exec_limits=limits, timeout=10)
        assert outcome["truncated"] is more, num
        assert len(outcome.stdout) == min(num, 4000)
        if not more:
            ended(outcome, "exited", code=0)
        elif policy != "kill":
            ended(outcome, verdict, "output", code=code)
        else:  # it may have ended before we could
            assert outcome["verdict"] == verdict
            assert outcome["limits_hit"] == ["output"]


def test_both_streams_count(run):
    script = "head -c 60 /dev/zero; head -c 60 /dev/zero >&2"
    outcome = run(script, exec_limits={"output": "100"})
    ended(outcome, "exited", "output", code=0)
    assert outcome["output_bytes"] == 100


def test_much_output_is_whole(run):
    outcome = run(f"exec {python('print(chr(120) * 10_000_000)')}")
    ended(outcome, "exited", code=0)
    assert outcome.stdout == b"x" * 10_000_000 + b"\n"
    assert outcome["truncated"] is False


def test_bytes_that_are_no_text(run):
    outcome = ended(run(r"printf '\xff\xfe\x80abc\n'"), "exited", code=0)
    assert outcome.stdout == b"\xff\xfe\x80abc\n"
    outcome.stdout_text.encode()  # valid, whatever it shows


def test_text_that_is_cut_stays_text(run):
    """100,000 isn't a multiple of what € takes."""
    source = "print(chr(0x20ac) * 200_000)"
    outcome = run(f"exec {python(source)}", exec_limits={"output": "100000"})
    ended(outcome, "exited", "output", code=0)
    assert outcome["truncated"] is True
    assert outcome["output_bytes"] == 100_000
    text = outcome.stdout_text.replace("\n", "")  # the API has it in parts
    assert text == "€" * (100_000 // 3)


def test_an_exec_of_a_sandbox_that_expires(daemon):
    box = daemon.api().create(timeout=600)
    stream = box.command_stream("sleep 300.0435")
    running = box.exec("sleep", "300.0435")
    assert running.wait_started()
    then = datetime.datetime.now(datetime.timezone.utc)
    then += datetime.timedelta(seconds=1)
    reply = box.api.request("POST", box.path("/renew-expiration"),
                            {"expiresAt": then.isoformat()})  # fmt: skip
    assert reply.status == 200, reply
    outcome = list(stream.events())[-1]["outcome"]
    assert (outcome["verdict"], outcome["exit_code"]) == ("expired", None)
    with running:
        verdict = running.wait().verdict
    assert (verdict["verdict"], verdict["signal"]) == ("expired", "SIGKILL")
    assert "time was over" in verdict["message"]
    procs.wait_for(lambda: not procs.with_argument("300.0435"), 1, "all end")


def test_one_that_is_deleted_is_killed_instead(daemon):
    box = daemon.api().create(timeout=600)
    stream = box.command_stream("sleep 300.0436")
    events = stream.events()
    next(events)
    assert box.delete().status == 204
    assert list(events)[-1]["outcome"]["verdict"] == "killed"


def test_an_interrupt_leaves_none(daemon):
    """Also of those who don't listen to it."""
    box = daemon.api().create()
    script = "setsid -f sh -c 'trap \"\" TERM; sleep 300.0437; sleep 300.0437'; exec sleep 300.0437"
    command = box.start(script)
    procs.wait_for(lambda: len(procs.with_argument("300.0437")) >= 2, 5, "they run")
    reply = box.api.request("DELETE", box.proxy(f"/command?id={command}"))
    assert reply.status == 200, reply
    status = box.wait_ended(command)
    assert (status["verdict"], status["left_running"]) == ("signaled", [])
    procs.wait_for(lambda: not procs.with_argument("300.0437"), 1, "all end")
    box.delete()


def test_results_outlive_osbd(service):
    daemon = service("--private")
    box = daemon.api().create(resourceLimits={"cpuTime": "0.2s"})
    ids = [box.start(script) for script in (
        "while :; do :; done", "sleep 300.0438 & echo x", "exit 3",
    )]  # fmt: skip
    before = [box.wait_ended(command) for command in ids]
    assert before[0]["verdict"] == "cpu_timeout"
    assert [left["name"] for left in before[1]["left_running"]] == ["sleep"]
    daemon.kill("osbd")
    procs.wait_for(lambda: daemon.children("osbd"), 5, "another osbd")
    assert [box.status(command) for command in ids] == before
    outcome = Http(daemon).run(box, "while :; do :; done", timeout=20)
    ended(outcome, "cpu_timeout")  # the sandbox's own limit, too
    box.delete()
