# SPDX-License-Identifier: Apache-2.0
"""osb exec, logs, cp, kill and ps ID: what is done with a sandbox that is there."""

import hashlib
import json
import os
import re
import signal
import subprocess
import time

import pytest

import osb
import procs

NOISE = bytes(range(256)) * 4096 + b"\r\n\n\0end"


def detach(daemon, box, *program, options=()):
    done = daemon.osb("exec", "--detach", *options, box.id, "--", *program)
    assert done.code == 0, done
    assert re.fullmatch("[0-9a-f]{32}\n", done.out), done
    return done.out.strip()


def wait_ended(box, command, seconds=10):
    end = time.monotonic() + seconds
    while True:
        reply = box.api.get(box.proxy(f"/command/status/{command}"))
        if not reply.json()["running"]:
            return reply.json()
        assert time.monotonic() < end, reply
        time.sleep(0.02)


def fails(done, *words):
    """It failed with 125 and one line that has these words."""
    assert done.code == 125, done
    assert len(done.err.splitlines()) == 1, done
    for word in words:
        assert word in done.err, done
    return done


# --- exec --------------------------------------------------------------------


def test_exec_passes_streams_and_status(daemon, sandbox):
    done = daemon.osb(
        "exec", sandbox.id, "--", "sh", "-c", "cat; echo err >&2; exit 7",
        input=NOISE,
    )  # fmt: skip
    assert (done.code, done.stdout, done.err) == (7, NOISE, "err\n")
    assert daemon.osb("exec", sandbox.id[:8], "true").code == 0
    assert sandbox.get().status == 200, "the sandbox goes on"


def test_exec_in_one_sandbox_finds_what_was_left(daemon, sandbox):
    assert daemon.osb("exec", sandbox.id, "--", "sh", "-c", "echo 1 >x").code == 0
    assert daemon.osb("exec", sandbox.id, "--", "cat", "x").out == "1\n"


def test_exec_options(daemon, sandbox):
    done = daemon.osb(
        "exec", "--user", "root", "--workdir", "/tmp", "--env", "A=b c",
        sandbox.id, "--", "sh", "-c", 'id -u; pwd; echo "$A"',
    )  # fmt: skip
    assert done.out == "0\n/tmp\nb c\n", done
    assert daemon.osb("exec", sandbox.id, "--", "id", "-u").out == "1000\n"
    done = daemon.osb("exec", "--timeout", "200ms", sandbox.id, "sleep", "300")
    assert done.code == 124, done
    assert len(done.err.splitlines()) == 1


def test_exec_json_is_the_verdict(daemon, sandbox):
    done = daemon.osb("exec", "--json", sandbox.id, "--", "sh", "-c",
                      "echo out; kill -SEGV $$")  # fmt: skip
    assert done.code == 0, done
    assert done.json()["verdict"] == "signaled"
    assert done.json()["signal"] == "SIGSEGV"
    assert done.json()["stdout"] == "out\n"


def test_exec_of_nothing_or_nowhere_is_refused(daemon, sandbox):
    fails(daemon.osb("exec"), "osb exec", "ID")
    fails(daemon.osb("exec", sandbox.id), "program is missing")
    fails(daemon.osb("exec", sandbox.id, "--"), "program is missing")
    fails(daemon.osb("exec", sandbox.id, "--json", "--", "true"), "--json",
          "before")  # fmt: skip
    fails(daemon.osb("exec", "0" * 32, "--", "true"), "0" * 32)
    fails(daemon.osb("exec", "ABC", "--", "true"), "'ABC'", "6 hex digits")
    fails(daemon.osb("exec", "--detach", "--json", sandbox.id, "true"),
          "--detach", "--json")  # fmt: skip
    fails(daemon.osb("exec", "--memory", "1Gi", sandbox.id, "true"), "--memory")
    assert daemon.osb("exec", sandbox.id, "no-such-program").code == 127
    done = daemon.osb("exec", "--workdir", "/nowhere", sandbox.id, "true")
    assert done.code == 126, done
    assert "--workdir '/nowhere'" in done.err


def test_exec_ends_with_its_osb(daemon, sandbox):
    process = daemon.popen(
        "exec", sandbox.id, "--", "sh", "-c", "echo up; exec sleep 300.411",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == b"up\n"
    process.kill()
    process.wait()
    procs.wait_for(lambda: not procs.with_argument("300.411"), 5, "it ends")
    assert sandbox.get().status == 200


def test_exec_passes_signals_on(daemon, sandbox):
    process = daemon.popen(
        "exec", sandbox.id, "--", "sh", "-c",
        "trap 'echo got; exit 3' TERM; echo up; while :; do sleep 0.05; done",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == b"up\n"
    process.terminate()
    assert process.communicate(timeout=5)[0] == b"got\n"
    assert process.returncode == 3


def test_a_terminal_is_read_only_with_i(daemon, sandbox):
    master, slave = os.openpty()
    try:
        done = daemon.osb("exec", sandbox.id, "--", "wc", "-c", input=None,
                          stdin=slave, timeout=20)  # fmt: skip
        assert done.out == "0\n", done
        os.write(master, b"typed\n\x04")
        done = daemon.osb("exec", "-i", sandbox.id, "--", "wc", "-c",
                          input=None, stdin=slave, timeout=20)  # fmt: skip
        assert done.out == "6\n", done
    finally:
        os.close(slave)
        os.close(master)


def test_detach_runs_on_by_itself(daemon, sandbox):
    words = ["a b", "it's", "$HOME", "`x`", "", "-n", "*", "x\ny", '"', "ü"]
    command = detach(
        daemon, sandbox, "sh", "-c",
        'pwd; id -u; id -g; echo "$A"; printf "<%s>" "$@"', "sh", *words,
        options=["--env", "A=1'2", "--workdir", "/tmp"],
    )  # fmt: skip
    status = wait_ended(sandbox, command)
    assert status["exit_code"] == 0, status
    log = daemon.osb("logs", sandbox.id, command)
    assert log.out == "/tmp\n1000\n1000\n1'2\n" + "".join(
        f"<{word}>" for word in words
    )
    command = detach(daemon, sandbox, "sleep", "300", options=[
        "--user", "7:8", "--timeout", "100ms"])  # fmt: skip
    assert wait_ended(sandbox, command)["verdict"] == "wall_timeout"
    command = detach(daemon, sandbox, "sh", "-c", "id -u; id -g",
                     options=["--user", "7:8"])  # fmt: skip
    assert daemon.osb("logs", "-f", sandbox.id, command).out == "7\n8\n"


def test_detach_runs_programs_not_what_a_shell_has_instead(daemon, sandbox):
    command = detach(daemon, sandbox, "if", "true")
    done = daemon.osb("logs", "-f", sandbox.id, command)
    assert done.code == 127, done
    command = detach(daemon, sandbox, "pwd", "--version")
    assert "coreutils" in daemon.osb("logs", "-f", sandbox.id, command).out


def test_detach_says_what_it_cannot(daemon, sandbox):
    fails(daemon.osb("exec", "--detach", "--workdir", "/nowhere", sandbox.id,
                     "true"), "--workdir '/nowhere'")  # fmt: skip
    fails(daemon.osb("exec", "--detach", "--workdir", "/a$b", sandbox.id,
                     "true"), "--workdir '/a$b'", "$")  # fmt: skip
    fails(daemon.osb("exec", "--detach", "-i", sandbox.id, "true"), "-i")


# --- logs --------------------------------------------------------------------


def test_logs_are_byte_exact(daemon, sandbox):
    sandbox.upload(({"path": "/tmp/noise"}, NOISE))
    command = detach(daemon, sandbox, "cat", "/tmp/noise")
    wait_ended(sandbox, command)
    assert daemon.osb("logs", sandbox.id[:8], command[:8]).stdout == NOISE
    done = daemon.osb("logs", "--from", "1000", sandbox.id, command)
    assert done.stdout == NOISE[1000:]
    done = daemon.osb("logs", "--from", len(NOISE) + 1, sandbox.id, command)
    assert (done.code, done.stdout) == (0, b"")
    assert daemon.osb("logs", "--from", "0", sandbox.id, command).stdout == NOISE


def test_logs_of_more_than_one_answer(daemon, sandbox):
    command = detach(daemon, sandbox, "sh", "-c", "seq 3000000")
    wait_ended(sandbox, command, 60)
    expected = "".join(f"{i}\n" for i in range(1, 3000001)).encode()
    assert len(expected) > 16 << 20
    done = daemon.osb("logs", sandbox.id, command)
    assert hashlib.sha256(done.stdout).digest() == (
        hashlib.sha256(expected).digest()
    )


def test_logs_of_a_foreground_command_have_both_streams(daemon, sandbox):
    command = sandbox.command("echo out; echo err >&2")[0]["text"]
    out = daemon.osb("logs", sandbox.id, command).out
    assert sorted(out.splitlines()) == ["err", "out"]


def test_logs_follow_live_and_end_with_the_status(daemon, sandbox):
    command = detach(daemon, sandbox, "sh", "-c",
                     "echo first; sleep 2; echo second; exit 9")  # fmt: skip
    process = daemon.popen("logs", "-f", sandbox.id, command,
                           stdout=subprocess.PIPE)  # fmt: skip
    assert process.stdout.readline() == b"first\n"
    reply = sandbox.api.get(sandbox.proxy(f"/command/status/{command}"))
    assert reply.json()["running"], "the first line came at once"
    assert process.communicate(timeout=10)[0] == b"second\n"
    assert process.returncode == 9
    done = daemon.osb("logs", "-f", sandbox.id, command)
    assert (done.code, done.out) == (9, "first\nsecond\n")


@pytest.mark.parametrize("sig, code", [("TERM", 143), ("SEGV", 139), ("KILL", 137)])
def test_logs_follow_tells_a_signal(daemon, sandbox, sig, code):
    command = detach(daemon, sandbox, "sh", "-c", f"kill -{sig} $$")
    assert daemon.osb("logs", "-f", sandbox.id, command).code == code


def test_logs_follow_goes_on_when_osbd_was_killed(service):
    daemon = service("--private")
    box = daemon.api().create()
    try:
        command = detach(
            daemon, box, "sh", "-c",
            "for i in $(seq 400); do echo line $i; sleep 0.01; done; exit 5",
        )  # fmt: skip
        process = daemon.popen("logs", "-f", box.id, command,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)  # fmt: skip
        for _ in range(2):
            time.sleep(0.8)
            os.kill(daemon.osbd(), signal.SIGKILL)
        out, err = process.communicate(timeout=30)
        assert out == b"".join(b"line %d\n" % i for i in range(1, 401)), err
        assert process.returncode == 5, err
    finally:
        assert daemon.osb("rm", box.id).code == 0


def test_logs_of_nothing_are_refused(daemon, sandbox):
    fails(daemon.osb("logs", sandbox.id), "COMMAND")
    fails(daemon.osb("logs", sandbox.id, "0" * 32), "0" * 32)
    fails(daemon.osb("logs", sandbox.id, "0" * 6), "000000", "no such command")
    fails(daemon.osb("logs", sandbox.id, "../x"), "'../x'")
    fails(daemon.osb("logs", "--from", "-1", sandbox.id, "0" * 32), "--from '-1'")
    fails(daemon.osb("logs", "--from", "9" * 30, sandbox.id, "0" * 32), "--from")


def test_a_reader_of_logs_may_leave(daemon, sandbox):
    command = detach(daemon, sandbox, "seq", "1000000")
    wait_ended(sandbox, command, 20)
    process = daemon.popen("logs", "-f", sandbox.id, command,
                           stdout=subprocess.PIPE)  # fmt: skip
    assert process.stdout.readline() == b"1\n"
    process.stdout.close()
    assert process.wait(timeout=10) in (-signal.SIGPIPE, 141)


# --- cp ----------------------------------------------------------------------


def test_cp_there_and_back(daemon, sandbox, tmp_path):
    source = tmp_path / "in"
    source.write_bytes(NOISE)
    source.chmod(0o751)
    assert daemon.osb("cp", source, f"{sandbox.id}:/tmp/d/x").code == 0
    stat = daemon.osb("exec", sandbox.id, "--", "stat", "-c", "%a %U", "/tmp/d/x")
    assert stat.out == "751 sandbox\n"
    back = tmp_path / "out"
    done = daemon.osb("cp", f"{sandbox.id[:8]}:/tmp/d/x", back)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert back.read_bytes() == NOISE


def test_cp_takes_names_from_the_other_side(daemon, sandbox, tmp_path):
    (tmp_path / "a$b c").write_bytes(b"1")
    assert daemon.osb("cp", tmp_path / "a$b c", f"{sandbox.id}:/tmp/").code == 0
    into = tmp_path / "into"
    into.mkdir()
    for target in (into, f"{into}/"):
        done = daemon.osb("cp", f"{sandbox.id}:/tmp/a$b c", target)
        assert done.code == 0, done
        assert [p.name for p in into.iterdir()] == ["a$b c"]
    done = daemon.osb("cp", tmp_path / "a$b c", f"{sandbox.id}:rel")
    assert done.code == 0
    assert daemon.osb("exec", sandbox.id, "--", "cat", "/workspace/rel").out == "1"
    assert daemon.osb("cp", f"{sandbox.id}:rel", "-").stdout == b"1"


def test_cp_streams(daemon, sandbox):
    done = daemon.osb("cp", "-", f"{sandbox.id}:/tmp/s", input=NOISE)
    assert done.code == 0, done
    assert daemon.osb("cp", f"{sandbox.id}:/tmp/s", "-").stdout == NOISE
    assert daemon.osb("cp", f"{sandbox.id}:/tmp/s", "/dev/stdout").stdout == NOISE


def test_cp_keeps_what_it_replaces_until_it_is_complete(daemon, sandbox, tmp_path):
    path = tmp_path / "old"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to("old")
    fails(daemon.osb("cp", f"{sandbox.id}:/tmp/missing", path), "/tmp/missing")
    assert path.read_bytes() == b"old"
    daemon.osb("cp", "-", f"{sandbox.id}:/tmp/new", input=b"new")
    assert daemon.osb("cp", f"{sandbox.id}:/tmp/new", link).code == 0
    assert path.read_bytes() == b"new" and link.is_symlink()
    assert path.stat().st_mode & 0o7777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "old"]


def test_cp_of_trees(daemon, sandbox, tmp_path):
    tree = tmp_path / "tree"
    (tree / "sub" / "empty").mkdir(parents=True)
    (tree / "sub" / "f").write_bytes(b"f")
    fails(daemon.osb("cp", tree, f"{sandbox.id}:/tmp/t"), "-r")
    assert daemon.osb("cp", "-r", tree, f"{sandbox.id}:/tmp/t").code == 0
    found = daemon.osb("exec", sandbox.id, "--", "find", "/tmp/t")
    assert sorted(found.out.split()) == [
        "/tmp/t", "/tmp/t/sub", "/tmp/t/sub/empty", "/tmp/t/sub/f",
    ]  # fmt: skip
    fails(daemon.osb("cp", "-r", f"{sandbox.id}:/tmp/t", tmp_path), "tar",
          "osb exec")  # fmt: skip
    fails(daemon.osb("cp", f"{sandbox.id}:/tmp/t", tmp_path / "x"), "/tmp/t")
    # What the refusal says to do works.
    done = daemon.osb("exec", sandbox.id, "--", "tar", "-C", "/tmp/t", "-c", ".")
    names = subprocess.run(["tar", "-t"], input=done.stdout, capture_output=True)
    assert b"./sub/f" in names.stdout


def test_cp_of_nonsense_is_refused(daemon, sandbox, tmp_path):
    here = tmp_path / "f"
    here.write_bytes(b"")
    fails(daemon.osb("cp", here), "osb cp")
    fails(daemon.osb("cp", here, tmp_path / "g"), "ID:PATH")
    fails(daemon.osb("cp", f"{sandbox.id}:/a", f"{sandbox.id}:/b"), "ID:PATH")
    fails(daemon.osb("cp", here, f"{sandbox.id}:"), "path")
    fails(daemon.osb("cp", tmp_path / "no", f"{sandbox.id}:/x"), "no'")
    fails(daemon.osb("cp", "-", f"{sandbox.id}:/x/"), "name")
    fails(daemon.osb("cp", here, "zzz:/x"), "'zzz'")
    fails(daemon.osb("cp", f"{sandbox.id}:/etc/passwd", tmp_path / "no" / "x"),
          str(tmp_path / "no" / "x"))  # fmt: skip


def test_cp_says_what_the_sandbox_says(daemon, tmp_path):
    box = daemon.api().create(resourceLimits={"disk": "1Mi"})
    try:
        big = tmp_path / "big"
        big.write_bytes(bytes(4 << 20))
        fails(daemon.osb("cp", big, f"{box.id}:/tmp/big"), "No space left")
    finally:
        box.delete()


@pytest.mark.memory
def test_cp_needs_constant_memory(daemon, tmp_path, long_run):
    size = (1 << 30) if long_run else (96 << 20)
    box = daemon.api().create(resourceLimits={"memory": "4Gi", "disk": "1500Mi"})
    try:
        script = (
            f"head -c {size} /dev/zero | {osb.BUILD}/osb cp - {box.id}:/tmp/x && "
            f"{osb.BUILD}/osb cp {box.id}:/tmp/x - | wc -c"
        )
        done = subprocess.run(
            ["/usr/bin/python3", "-c",
             "import resource, subprocess, sys\n"
             "subprocess.run(['sh', '-c', sys.argv[1]], check=True)\n"
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
             script],
            env=daemon.env(), capture_output=True, check=True, text=True,
        )  # fmt: skip
        count, rss_kib = done.stdout.split()
        assert int(count) == size
        assert int(rss_kib) < 16 << 10, "KiB"
    finally:
        box.delete()


# --- kill and ps -------------------------------------------------------------


def test_kill_interrupts(daemon, sandbox):
    command = detach(daemon, sandbox, "sleep", "300.412")
    assert daemon.osb("kill", sandbox.id[:8], command[:8]).code == 0
    assert daemon.osb("logs", "-f", sandbox.id, command).code == 143
    assert procs.with_argument("300.412") == []
    fails(daemon.osb("kill", sandbox.id, command), command)


def test_kill_of_one_that_ignores_it_takes_three_seconds(daemon, sandbox):
    command = detach(daemon, sandbox, "sh", "-c",
                     "trap '' TERM; echo up; while :; do sleep 1; done")  # fmt: skip
    procs.wait_for(lambda: daemon.osb("logs", sandbox.id, command).out, 5, "up")
    assert daemon.osb("kill", sandbox.id, command).code == 0
    start = time.monotonic()
    assert daemon.osb("logs", "-f", sandbox.id, command).code == 137
    assert 2 < time.monotonic() - start < 6


def test_kill_9_ends_and_forgets(daemon, sandbox):
    command = detach(daemon, sandbox, "sh", "-c", "trap '' TERM; sleep 300.413")
    assert daemon.osb("kill", "-9", sandbox.id, command).code == 0
    assert procs.with_argument("300.413") == []
    fails(daemon.osb("logs", sandbox.id, command), command)


def test_kill_of_a_sandbox_names_rm(daemon, sandbox):
    fails(daemon.osb("kill", sandbox.id), "osb rm")
    fails(daemon.osb("kill"), "osb kill")
    fails(daemon.osb("kill", sandbox.id, "0" * 32), "0" * 32)
    assert sandbox.get().status == 200


def test_ps_of_a_sandbox_lists_its_commands(daemon, sandbox):
    assert json.loads(daemon.osb("ps", "--json", sandbox.id).out) == []
    assert len(daemon.osb("ps", sandbox.id).out.splitlines()) == 1
    first = detach(daemon, sandbox, "sh", "-c", "exit 3")
    wait_ended(sandbox, first)
    second = detach(daemon, sandbox, "sh", "-c", "sleep 300; :\033[31m")
    third = detach(daemon, sandbox, "sh", "-c", "kill -SEGV $$")
    wait_ended(sandbox, third)
    lines = daemon.osb("ps", sandbox.id[:8]).out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == [third, second, first]
    assert "SIGSEGV" in lines[0]
    assert "running" in lines[1] and "sleep 300" in lines[1]
    assert "exited 3" in lines[2]
    assert "\033" not in lines[1]
    shown = json.loads(daemon.osb("ps", "--json", sandbox.id).out)
    assert [c["id"] for c in shown] == [third, second, first]
    assert [c["running"] for c in shown] == [False, True, False]
    assert shown[2]["verdict"] == "exited" and shown[2]["exit_code"] == 3
    assert shown[0]["signal"] == "SIGSEGV" and shown[0]["exit_code"] is None
    assert "verdict" not in shown[1]
    assert abs(shown[1]["started_s"] - time.time()) < 20


# --- by TCP ------------------------------------------------------------------


def tcp(daemon, *args, address=None, **env):
    host, port = daemon.addresses[0]
    env = osb.clean_env(OPEN_SANDBOX_DOMAIN=address or f"{host}:{port}", **env)
    return osb.command(*args, env=env)


def test_osb_by_tcp_with_a_key(service, tmp_path):
    daemon = service(listen=["127.0.0.1:0"], keys={"me": "secret"})
    fails(tcp(daemon, "ps"), "API-KEY")
    fails(tcp(daemon, "ps", OPEN_SANDBOX_API_KEY="wrong"), "key")
    key = {"OPEN_SANDBOX_API_KEY": "secret"}
    done = tcp(daemon, "run", "--", "echo", "hi", **key)
    assert (done.code, done.out) == (0, "hi\n"), done
    box = daemon.tcp(key="secret").create()
    port = daemon.addresses[0][1]
    for address in (f"http://127.0.0.1:{port}", f"localhost:{port}/",
                    f"127.0.0.1:{port}/v1"):  # fmt: skip
        assert box.id in tcp(daemon, "ps", address=address, **key).out
    (tmp_path / "x").write_bytes(NOISE)
    assert tcp(daemon, "cp", tmp_path / "x", f"{box.id}:/tmp/x", **key).code == 0
    command = tcp(daemon, "exec", "--detach", box.id, "cat", "/tmp/x", **key)
    command = command.out.strip()
    done = tcp(daemon, "logs", "-f", box.id, command, **key)
    assert (done.code, done.stdout) == (0, NOISE)
    assert tcp(daemon, "rm", box.id, **key).code == 0


def test_osb_by_tcp_without_keys(service):
    daemon = service(listen=["[::1]:0"])
    port = daemon.addresses[0][1]
    done = tcp(daemon, "run", "--", "cat", address=f"[::1]:{port}")
    assert done.code == 0, done


@pytest.mark.parametrize(
    "domain, word",
    [
        ("https://localhost:8080", "https"),
        ("ftp://localhost:8080", "http"),
        ("localhost:0", "localhost:8080"),
        ("localhost:99999", "localhost:8080"),
        ("localhost:", "localhost:8080"),
        (":8080", "localhost:8080"),
        ("::1", "localhost:8080"),
        ("[::1", "localhost:8080"),
        ("me@localhost:8080", "localhost:8080"),
        ("localhost:8080/prefix", "path"),
        ("example.test:8080", "localhost:8080"),
        ("unix:/x", "path"),
        ("unix:x", "localhost:8080"),
        ("a b", "localhost:8080"),
        ("x" * 300, "localhost:8080"),
        ("127.0.0.1:1", "127.0.0.1:1"),
    ],
)
def test_a_bad_domain_is_one_line(domain, word):
    env = osb.clean_env(OPEN_SANDBOX_DOMAIN=domain)
    done = osb.command("ps", env=env, timeout=20)
    fails(done, word)
    if domain != "127.0.0.1:1":
        assert "OPEN_SANDBOX_DOMAIN" in done.err


def test_https_by_the_other_variable_is_refused_too():
    env = osb.clean_env(OPEN_SANDBOX_DOMAIN="localhost:8080",
                        OPEN_SANDBOX_PROTOCOL="https")  # fmt: skip
    fails(osb.command("ps", env=env, timeout=20), "OPEN_SANDBOX_PROTOCOL", "https")


def test_the_socket_wins_over_the_domain(daemon):
    done = daemon.osb("ps", env={"OPEN_SANDBOX_DOMAIN": "127.0.0.1:1"})
    assert done.code == 0, done


def test_every_command_has_help():
    for name in ("exec", "logs", "cp", "kill", "ps"):
        done = osb.command(name, "--help")
        assert done.code == 0 and f"Usage: osb {name}" in done.out, done
