# SPDX-License-Identifier: Apache-2.0
"""What two parsers could read in two ways is refused, and nothing hangs.

By a unix socket and by TCP: the same must hold.
"""

import time

import pytest

HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\n"

REFUSED = {
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
    "length and chunked": POST
    + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "length with a sign": POST + b"Content-Length: +2\r\n\r\n{}",
    "length in hex": POST + b"Content-Length: 0x2\r\n\r\n{}",
    "length without end": POST + b"Content-Length: 99999999999999999999\r\n\r\n",
    "unknown coding": POST + b"Transfer-Encoding: gzip\r\n\r\n{}",
    "chunked twice": POST
    + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bare LF": b"GET /health HTTP/1.1\nHost: localhost\n\n",
    "folded header": HEAD + b"X-A: b\r\n  c\r\n\r\n",
    "space before colon": HEAD + b"X-A : b\r\n\r\n",
    "NUL in a header": HEAD + b"X-A: a\0b\r\n\r\n",
    "no version": b"GET /health\r\n\r\n",
    "version 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no method": b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\r\n\r\n",
    "huge header": HEAD + b"X-A: " + b"a" * 200_000 + b"\r\n\r\n",
    "many headers": HEAD + b"X-A: b\r\n" * 20_000 + b"\r\n",
    "huge target": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "bad chunk size": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "huge chunk size": POST
    + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n",
}


@pytest.fixture(params=["unix", "tcp"])
def api(request):
    if request.param == "unix":
        return request.getfixturevalue("daemon").api()
    service = request.getfixturevalue("service")
    return service(listen=["127.0.0.1:0"]).tcp()


def refused(api, name):
    start = time.monotonic()
    answer = api.raw(REFUSED[name], seconds=3)
    assert time.monotonic() - start < 2.5, "closed by the server"
    if answer:
        status = int(answer.split()[1])
        assert 400 <= status <= 505 and status != 500, answer[:300]
        assert answer.count(b"HTTP/1.1 ") == 1, "one answer, no second request"
    assert api.get("/health").status == 200


@pytest.mark.parametrize("name", REFUSED)
def test_refused(daemon, name):
    refused(daemon.api(), name)


def test_all_of_it_by_tcp(service):
    api = service(listen=["127.0.0.1:0"]).tcp()
    for name in REFUSED:
        refused(api, name)


def test_requests_one_after_another_on_one_connection(api):
    answer = api.raw(
        HEAD + b"\r\n" + HEAD + b"\r\n" + HEAD + b"Connection: close\r\n\r\n"
    )
    assert answer.count(b"HTTP/1.1 200") == 3


def test_a_chunked_body_is_read(api):
    answer = api.raw(
        POST
        + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        + b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 400"), answer
    assert b"message" in answer


def test_a_byte_at_a_time(api):
    with api.connect() as sock:
        for byte in HEAD + b"Connection: close\r\n\r\n":
            sock.sendall(bytes([byte]))
        assert sock.recv(4096).startswith(b"HTTP/1.1 200")


def test_expect_100_continue(api):
    with api.connect() as sock:
        sock.sendall(
            POST + b"Content-Length: 2\r\nExpect: 100-continue\r\n"
            b"Connection: close\r\n\r\n"
        )
        sock.settimeout(2)
        first = sock.recv(4096)
        if first.startswith(b"HTTP/1.1 100"):
            sock.sendall(b"{}")
            first = first.split(b"\r\n\r\n", 1)[1] or sock.recv(4096)
        assert first.startswith(b"HTTP/1.1 400"), first


def test_a_connection_that_says_nothing_harms_nobody(api):
    idle = [api.connect() for _ in range(50)]
    half = [api.connect() for _ in range(50)]
    for sock in half:
        sock.sendall(HEAD[:-5])
    assert api.get("/health").status == 200
    for sock in idle + half:
        sock.close()
