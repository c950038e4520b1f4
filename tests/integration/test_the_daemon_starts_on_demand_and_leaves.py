# SPDX-License-Identifier: Apache-2.0
"""osb starts a private broker where none answers; it leaves when idle."""

import os
import shutil
import subprocess
import time

import pytest

import osb
import procs


def leave(socket, seconds=6):
    """Wait until the broker at a socket has left, with all it started."""
    family = [f for b in osb.brokers(socket) for f in [b, *procs.descendants(b)]]
    procs.wait_for(
        lambda: not any(procs.is_alive(p) for p in family),
        seconds,
        "the private broker leaves",
    )


@pytest.fixture
def place(tmp_path):
    socket = tmp_path / "s"
    yield socket, osb.clean_env(OSB_SOCKET=str(socket), OSB_IDLE_EXIT="1s")
    leave(socket)


def test_the_first_run_starts_it_and_it_leaves_when_idle(place):
    socket, env = place
    done = osb.command("run", "--", "echo", "hello", env=env)
    assert (done.code, done.out, done.err) == (0, "hello\n", ""), done
    assert len(osb.brokers(socket)) == 1
    time.sleep(0.3)
    assert osb.command("run", "--", "true", env=env).code == 0
    leave(socket, 4)
    assert not socket.exists(), "its socket is gone too"
    assert osb.command("run", "--", "echo", "back", env=env).out == "back\n"


def test_many_at_once_start_one(place):
    socket, env = place
    argv = [str(osb.BUILD / "osb"), "run", "--", "echo", "hi"]
    running = [
        subprocess.Popen(argv, env=env, stdout=subprocess.PIPE)
        for _ in range(10)
    ]
    assert [p.communicate()[0] for p in running] == [b"hi\n"] * 10
    assert len(osb.brokers(socket)) == 1


def test_it_holds_nothing_of_its_caller(place):
    socket, env = place
    read_end, write_end = os.pipe()
    done = osb.command(
        "run", "--", "true", env=env, pass_fds=(write_end,), cwd="/var/tmp"
    )
    assert done.code == 0, done
    os.close(write_end)
    assert os.read(read_end, 1) == b"", "the pipe is closed everywhere"
    os.close(read_end)
    for broker in osb.brokers(socket):
        assert os.getsid(broker) != os.getsid(0)
        assert os.readlink(f"/proc/{broker}/cwd") != "/var/tmp"


def test_the_caller_can_read_to_the_end_of_a_pipe(place):
    """$(osb run ...) must return though the daemon lives on."""
    socket, env = place
    start = time.monotonic()
    done = subprocess.run(
        [f"x=$({osb.BUILD}/osb run -- echo in 2>&1); echo got $x"],
        shell=True, env={**env, "OSB_IDLE_EXIT": "3s"}, capture_output=True,
    )  # fmt: skip
    assert done.stdout == b"got in\n", done
    assert time.monotonic() - start < 2.5


def test_it_does_not_leave_while_a_sandbox_lives(place):
    socket, env = place
    done = osb.command("run", "--", "sleep", "3", env=env)
    assert done.code == 0, done


def test_a_run_that_meets_a_leaving_daemon_works(place):
    socket, env = place
    for i in range(6):
        done = osb.command("run", "--", "echo", str(i), env=env)
        assert done.out == f"{i}\n", done
        time.sleep(0.85 + 0.06 * i)


def test_a_stale_socket_is_replaced(place):
    import socket as sockets

    path, env = place
    stale = sockets.socket(sockets.AF_UNIX)
    stale.bind(str(path))
    stale.close()
    done = osb.command("run", "--", "echo", "new", env=env)
    assert done.out == "new\n", done


def test_a_broker_that_ends_at_once_is_quoted(tmp_path):
    program = shutil.copy(osb.BUILD / "osb", tmp_path)
    broker = tmp_path / "osb-broker"
    broker.write_text("#!/bin/sh\necho first >&2\necho the reason >&2\n")
    broker.chmod(0o755)
    for _ in range(2):  # an old log isn't quoted in place of a new one
        done = subprocess.run(
            [program, "run", "--", "true"],
            env=osb.clean_env(OSB_SOCKET=str(tmp_path / "s")),
            capture_output=True, text=True, timeout=10,
        )  # fmt: skip
        assert done.returncode == 125, done
        assert "before it was ready: the reason (see" in done.stderr, done
        assert len(done.stderr.splitlines()) == 1, done
        broker.write_text("#!/bin/sh\necho the reason >&2\n")
