# SPDX-License-Identifier: Apache-2.0
"""An endpoint is a path on the same host, ending in its port."""

import pytest


@pytest.mark.parametrize("port", [44772, 18080, 8080, 1, 65535])
@pytest.mark.parametrize("query", ["", "?use_server_proxy=true",
                                   "?use_server_proxy=false"])  # fmt: skip
def test_an_endpoint(sandbox, port, query):
    reply = sandbox.api.get(
        sandbox.path(f"/endpoints/{port}{query}"), headers={"Host": "h.example:99"}
    )
    assert reply.status == 200, reply
    assert reply.json()["endpoint"] == (
        f"h.example:99/sandboxes/{sandbox.id}/proxy/{port}"
    )


@pytest.mark.parametrize("port", ["0", "65536", "-1", "x", "99999999999"])
def test_a_port_that_cannot_be(sandbox, port):
    reply = sandbox.api.get(sandbox.path(f"/endpoints/{port}"))
    assert reply.status == 400, reply
    assert set(reply.json()) == {"code", "message"}


def test_the_endpoint_of_an_unknown_sandbox_is_404(daemon):
    reply = daemon.api().get(f"/v1/sandboxes/{'0' * 32}/endpoints/44772")
    assert reply.status == 404


def test_ping(sandbox):
    reply = sandbox.api.get(sandbox.proxy("/ping"))
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["Content-Length"] == "0"
