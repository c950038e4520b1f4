# SPDX-License-Identifier: Apache-2.0
"""A client that vanishes takes its sandbox with it, within a second."""

import signal
import subprocess
import time

import pytest

import procs


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_killed_in_the_middle_of_a_run(daemon, sig):
    marker = f"300.05{int(sig):02}"
    process = daemon.popen(
        "run", "--", "sh", "-c", f"setsid sleep {marker} & sleep {marker}",
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    procs.wait_for(
        lambda: len(procs.with_argument(marker)) == 2, 5, "both sleeps"
    )
    process.send_signal(sig)
    process.wait(timeout=5)
    time.sleep(1)
    assert procs.with_argument(marker) == []
    assert daemon.api().ids() == []


def test_an_interrupt_goes_to_the_program_and_a_second_ends_it(daemon):
    process = daemon.popen(
        "run", "--", "sh", "-c", "trap 'echo one' INT; echo up; while :; do "
        "sleep 0.05; done", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == b"one\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=2) in (130, 137)
    process.stdout.close()
    daemon.api().wait_gone(1)


def test_killed_at_any_moment(daemon):
    for i in range(20):
        process = daemon.popen(
            "run", "--", "sleep", "300", stdin=subprocess.DEVNULL
        )
        time.sleep(0.002 * i)
        process.kill()
        process.wait()
    time.sleep(1)
    assert daemon.api().ids() == []


def test_a_closed_websocket_with_bind(daemon):
    box = daemon.api().create()
    running = box.exec("sleep", "300", bind=True)
    running.wait_started()
    running.ws.shutdown()
    procs.wait_for(lambda: box.get().status == 404, 1, "the sandbox is gone")


def frame(opcode, payload):
    """Of a client, masked with zeros; a short one."""
    return bytes([0x80 | opcode, 0x80 | len(payload)]) + bytes(4) + payload


def test_a_websocket_with_bind_that_closes_before_the_start(daemon):
    """Its program's start is told to nobody, and ends the sandbox."""
    api, osbd = daemon.api(), daemon.osbd()
    for _ in range(10):
        box = api.create()
        api.raw(
            f"GET {box.path('/exec')} HTTP/1.1\r\nHost: localhost\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
            + frame(1, b'{"argv": ["true"], "bind": true}')
            + frame(8, b"\x03\xe8")
        )  # fmt: skip
        procs.wait_for(lambda: box.get().status == 404, 1, "it is gone")
    assert daemon.osbd() == osbd


def test_without_bind_the_sandbox_stays(sandbox):
    running = sandbox.exec("sleep", "300")
    running.wait_started()
    running.ws.shutdown()
    time.sleep(0.5)
    assert sandbox.get().status == 200
