# SPDX-License-Identifier: Apache-2.0
"""Who sends a request byte by byte holds no connection for long."""

import contextlib
import time

import pytest

CONFIG = "head_timeout = 1s\nbody_timeout = 1s\nidle_timeout = 1s\n"
HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: "
BODY = (b"POST /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Length: 5000\r\n\r\n")  # fmt: skip


@pytest.fixture(params=["unix", "tcp"])
def api(request, service):
    daemon = service(listen=["127.0.0.1:0"], osbd_config=CONFIG)
    return daemon.tcp() if request.param == "tcp" else daemon.api()


def drip(sock, start, limit=6):
    """Send a byte each 100 ms; after how many seconds the peer closes."""
    began = time.monotonic()
    sock.settimeout(0.1)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        sock.sendall(start)
        while time.monotonic() - began < limit:
            sock.sendall(b"x")
            try:
                if not sock.recv(4096):
                    break
            except TimeoutError:
                pass
    return time.monotonic() - began


@pytest.mark.parametrize("start", [HEAD[:3], HEAD, BODY])
def test_a_byte_now_and_then(api, start):
    with api.connect() as sock:
        assert 0.9 < drip(sock, start) < 4
    assert api.get("/health").status == 200


def test_a_chunked_body_too(api):
    start = BODY.replace(b"Content-Length: 5000", b"Transfer-Encoding: chunked")
    with api.connect() as sock:
        assert 0.9 < drip(sock, start + b"1000\r\n") < 4


def test_a_body_at_a_decent_rate_may_take_longer(api):
    """2.5 kB a second for two seconds, though the timeout is one."""
    with api.connect() as sock:
        sock.sendall(BODY)
        for _ in range(20):
            sock.sendall(b" " * 250)
            time.sleep(0.1)
        sock.settimeout(5)
        assert sock.recv(4096).startswith(b"HTTP/1.1 400 ")


def test_hundreds_of_them_keep_nobody_out(api):
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(api.connect()).sendall(HEAD)
        start = time.monotonic()
        assert api.get("/health").status == 200
        assert time.monotonic() - start < 0.5
