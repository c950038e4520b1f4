# SPDX-License-Identifier: Apache-2.0
"""Every error is the envelope, and every response carries a request id."""

import re

import pytest

UNKNOWN = "0" * 32


@pytest.mark.parametrize(
    "method, path, status",
    [
        ("GET", "/nothing", 404),
        ("GET", "/v1/nothing", 404),
        ("GET", "/healthXYZ", 404),
        ("GET", f"/v1/sandboxes/{UNKNOWN}", 404),
        ("GET", "/v1/sandboxes/not-an-id", 404),
        ("GET", "/v1/sandboxes/..%2f..%2fetc", 404),
        ("DELETE", f"/v1/sandboxes/{UNKNOWN}", 404),
        ("GET", f"/v1/sandboxes/{UNKNOWN}/exec", 404),
        ("GET", f"/sandboxes/{UNKNOWN}/proxy/44772/ping", 404),
        ("POST", f"/sandboxes/{UNKNOWN}/proxy/44772/command", 404),
        ("PUT", "/v1/sandboxes", 405),
        ("POST", "/health", 405),
        ("BREW", "/v1/sandboxes", (400, 405, 501)),
    ],
)
def test_the_envelope(daemon, method, path, status):
    body = {"command": "true"} if method == "POST" else None
    reply = daemon.api().request(method, path, body)
    allowed = status if isinstance(status, tuple) else (status,)
    assert reply.status in allowed, reply
    envelope = reply.json()
    assert set(envelope) == {"code", "message"}
    assert all(isinstance(v, str) and v for v in envelope.values())
    assert reply.headers["Content-Type"].startswith("application/json")
    assert reply.headers["X-Request-ID"]


def test_unknown_routes_inside_a_sandbox(sandbox):
    reply = sandbox.api.get(sandbox.proxy("/nothing"))
    assert reply.status == 404
    assert set(reply.json()) == {"code", "message"}


def test_a_request_id_is_echoed_on_success_and_failure(daemon):
    for path in ("/health", "/nothing", f"/v1/sandboxes/{UNKNOWN}"):
        reply = daemon.api().get(path, headers={"X-Request-ID": " my-id-1 "})
        assert reply.headers["X-Request-ID"] == "my-id-1"


def test_without_one_it_is_32_hex_and_new_each_time(daemon):
    ids = {
        daemon.api().get("/health").headers["X-Request-ID"] for _ in range(5)
    }
    assert len(ids) == 5
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in ids)


def test_a_request_id_that_would_split_the_header_is_not_echoed(daemon):
    answer = daemon.api().raw(
        b"GET /health HTTP/1.1\r\nHost: x\r\nX-Request-ID: "
        + b"a" * 5000
        + b"\r\nConnection: close\r\n\r\n"
    )
    assert b"a" * 300 not in answer


def test_an_unknown_sandbox_has_the_official_code(daemon):
    reply = daemon.api().get(f"/v1/sandboxes/{UNKNOWN}")
    assert "::" in reply.json()["code"]
    assert UNKNOWN in reply.json()["message"]
