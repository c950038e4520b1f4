# SPDX-License-Identifier: Apache-2.0
"""SIGTERM: what is in work is finished, for a while; then all ends."""

import os
import signal
import threading
import time

import procs

LOOPBACK = ["127.0.0.1:0"]
DRAIN = "drain_timeout = 3s\n"  # as without a file
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


def in_background(fn):
    result = []
    thread = threading.Thread(target=lambda: result.append(fn()))
    thread.start()
    return thread, result


def wait_for_end(daemon):
    start = time.monotonic()
    assert daemon.process.wait(timeout=6) == 0
    return time.monotonic() - start


def test_a_command_in_work_is_finished(service):
    daemon = service(listen=LOOPBACK, osbd_config=DRAIN)
    box = daemon.tcp().create()
    stream = box.command_stream("sleep 0.7; echo done")
    events = stream.events()
    assert next(events)["type"] == "init"
    os.kill(daemon.pid, signal.SIGTERM)
    rest = list(events)
    assert [e["type"] for e in rest if e["type"] != "ping"] == [
        "stdout", "execution_complete",
    ]  # fmt: skip
    assert wait_for_end(daemon) < 2.5


def test_a_sandbox_may_still_be_made_and_ended(service):
    """A request that had begun needs the broker: it still answers."""
    daemon = service(listen=LOOPBACK, osbd_config=DRAIN)
    api = daemon.tcp()
    body = (b'{"image":{"uri":"host"},"entrypoint":["sleep","infinity"],'
            b'"resourceLimits":{}}')  # fmt: skip
    with api.connect() as sock:
        sock.sendall(
            b"POST /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body)
        )
        time.sleep(0.2)
        os.kill(daemon.pid, signal.SIGTERM)
        time.sleep(0.2)
        sock.sendall(body)
        answer = sock.recv(65536)
    assert answer.startswith(b"HTTP/1.1 202 "), answer
    assert b"\r\nConnection: close\r\n" in answer
    assert wait_for_end(daemon) < 2.5


def test_idle_connections_are_closed_and_new_ones_wait(service):
    daemon = service(listen=LOOPBACK, osbd_config=DRAIN)
    box = daemon.tcp().create()
    busy = box.command_stream("sleep 1")
    with daemon.tcp().connect() as idle, daemon.tcp().connect() as silent:
        idle.sendall(HEALTH)
        assert idle.recv(4096).startswith(b"HTTP/1.1 200 ")
        os.kill(daemon.pid, signal.SIGTERM)
        start = time.monotonic()
        assert idle.recv(4096) == silent.recv(4096) == b""
        assert time.monotonic() - start < 0.5
        with daemon.tcp().connect() as late:  # nobody accepts it
            late.sendall(HEALTH)
            late.settimeout(0.3)
            try:
                assert late.recv(4096) == b"", "no answer"
            except (TimeoutError, ConnectionResetError):
                pass
    busy.raw()
    wait_for_end(daemon)


def test_streams_are_cut_when_the_time_is_over(service):
    daemon = service(listen=LOOPBACK, osbd_config="drain_timeout = 1s\n")
    box = daemon.tcp().create()
    running = box.exec("sleep", "300.072")
    running.wait_started()
    start = time.monotonic()
    os.kill(daemon.pid, signal.SIGTERM)
    assert daemon.process.wait(timeout=6) == 0
    assert 0.9 < time.monotonic() - start < 3
    assert not procs.with_argument("300.072")


def test_a_second_signal_ends_at_once(service):
    daemon = service(listen=LOOPBACK, osbd_config=DRAIN)
    box = daemon.tcp().create()
    running = box.exec("sleep", "300.073")
    running.wait_started()
    os.kill(daemon.pid, signal.SIGTERM)
    time.sleep(0.3)
    start = time.monotonic()
    os.kill(daemon.pid, signal.SIGTERM)
    assert daemon.process.wait(timeout=6) == 0
    assert time.monotonic() - start < 1


def test_an_osbd_that_does_not_react_is_not_waited_for_long(service):
    daemon = service(listen=LOOPBACK, osbd_config=DRAIN)
    os.kill(daemon.osbd(), signal.SIGSTOP)
    start = time.monotonic()
    os.kill(daemon.pid, signal.SIGTERM)
    assert daemon.process.wait(timeout=6) == 0
    assert time.monotonic() - start < 5


def test_osbd_alone_finishes_too_and_the_next_one_serves(service):
    daemon = service(listen=LOOPBACK, osbd_config=DRAIN)
    first = daemon.osbd()
    with daemon.tcp().connect() as half:
        half.sendall(HEALTH[:20])
        time.sleep(0.2)
        os.kill(first, signal.SIGTERM)
        thread, late = in_background(lambda: daemon.tcp().get("/health").status)
        time.sleep(0.2)
        half.sendall(HEALTH[20:])
        answer = half.recv(4096)
    assert answer.startswith(b"HTTP/1.1 200 ") and b"Connection: close" in answer
    thread.join()
    assert late == [200]
    assert daemon.osbd() != first


def test_a_private_daemon_without_work_ends_at_once(service):
    daemon = service("--private")
    assert daemon.run("true").code == 0
    os.kill(daemon.pid, signal.SIGTERM)
    assert wait_for_end(daemon) < 1
