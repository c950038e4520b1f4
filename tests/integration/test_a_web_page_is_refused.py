# SPDX-License-Identifier: Apache-2.0
"""A page in a browser on this machine must not run code here.

A browser says where a page comes from (Origin), and which name it believes to
talk to (Host): a page's own name may lead to 127.0.0.1.
"""

import pytest
import websocket

import api as http_api

PAGE = {"Origin": "https://evil.example"}
APP = "https://app.example.com"
CREATE = http_api.CREATE_BODY


@pytest.fixture
def without_keys(service):
    return service(listen=["127.0.0.1:0", "[::1]:0"])


@pytest.fixture
def with_keys(service):
    return service(
        listen=["127.0.0.1:0"], keys={"ann": "key-a"},
        osbd_config=f"cors_origin = https://other.example\ncors_origin = {APP}\n",
    )  # fmt: skip


def refused(reply, code):
    assert reply.status == 403, reply
    assert reply.json()["code"] == code
    assert "Access-Control-Allow-Origin" not in reply.headers


def routes(box):
    yield "GET", "/health"
    yield "GET", "/nothing/here"
    yield "GET", "/metrics"
    yield "GET", "/v1/sandboxes"
    yield "POST", "/v1/sandboxes"
    yield "DELETE", box.path()
    yield "OPTIONS", box.path()
    yield "GET", box.path("/exec")
    yield "GET", box.proxy("/ping")
    yield "POST", box.proxy("/command")
    yield "GET", box.proxy("/files/download?path=/etc/passwd")


def refused_everywhere(api, box):
    for method, path in routes(box):
        for origin in ("https://evil.example", "null", "http://localhost", ""):
            reply = api.request(method, path, CREATE, {"Origin": origin})
            refused(reply, "AUTH::ORIGIN_NOT_ALLOWED")
    for origin in ("https://evil.example", "http://localhost"):
        with pytest.raises(websocket.WebSocketBadStatusException) as caught:
            api.websocket(box.path("/exec"), origin=origin)
        assert caught.value.status_code == 403
    assert box.run("true").verdict["exit_code"] == 0  # without one it's fine


def test_any_origin_by_tcp_without_keys(without_keys):
    api = without_keys.tcp()
    box = api.create()
    refused_everywhere(api, box)
    assert api.ids() == [box.id]
    assert box.delete().status == 204


def test_any_origin_by_a_unix_socket(daemon, sandbox):
    refused_everywhere(daemon.api(), sandbox)


def test_other_origins_with_keys(with_keys):
    api = with_keys.tcp(key="key-a")
    box = api.create()
    refused_everywhere(api, box)
    assert box.delete().status == 204


OURS = ["localhost", "LocalHost:99", "127.0.0.1", "127.9.9.9:8080", "[::1]",
        "[::1]:8080", "localhost:"]  # fmt: skip
OTHERS = ["evil.example", "localhost.evil.example", "0.0.0.0", "10.0.0.1",
          "127.0.0.1.evil.example", "[::1].evil.example", "2130706433",
          "localhost:80@evil.example", "[::]", "::1", "[::1", " "]  # fmt: skip


def test_a_name_that_leads_here_by_tcp_without_keys(without_keys):
    for number in (0, 1):
        api = without_keys.tcp(number=number)
        for path, status in (("/health", 200), ("/nothing", 404)):
            for host in OURS:
                reply = api.get(path, headers={"Host": host})
                assert reply.status == status, (host, reply)
            for host in OTHERS:
                reply = api.get(path, headers={"Host": host})
                refused(reply, "AUTH::HOST_NOT_ALLOWED")


def test_two_origins_are_not_one_of_them(with_keys):
    answer = with_keys.tcp().raw(
        b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        b"Origin: %b\r\nOrigin: https://evil.example\r\n\r\n" % APP.encode()
    )
    assert answer.startswith(b"HTTP/1.1 403 "), answer


def test_a_page_that_is_allowed(with_keys):
    api = with_keys.tcp(key="key-a")
    reply = api.request("POST", "/v1/sandboxes", CREATE, {"Origin": APP})
    assert reply.status == 202, reply
    assert reply.headers["Access-Control-Allow-Origin"] == APP
    assert reply.headers["Vary"] == "Origin"
    assert "X-Request-ID" in reply.headers["Access-Control-Expose-Headers"]
    assert "Access-Control-Allow-Credentials" not in reply.headers
    box = http_api.Sandbox(api, reply.json())
    stream = api.stream("POST", box.proxy("/command"), {"command": "true"},
                        {"Origin": APP})  # fmt: skip
    assert stream.headers["Access-Control-Allow-Origin"] == APP
    list(stream.events())
    api.websocket(box.path("/exec"), origin=APP).shutdown()
    assert box.delete().status == 204
    # What went wrong must be readable too; a key is needed all the same.
    for key, path, status in (
        ("key-a", "/nothing", 404), (None, "/v1/sandboxes", 401),
    ):  # fmt: skip
        reply = with_keys.tcp(key=key).get(path, headers={"Origin": APP})
        assert reply.status == status
        assert reply.headers["Access-Control-Allow-Origin"] == APP
    reply = api.get("/health")
    assert "Access-Control-Allow-Origin" not in reply.headers
    assert reply.headers["Vary"] == "Origin"  # for caches


def test_a_browser_asks_beforehand(with_keys):
    api = with_keys.tcp()
    ask = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,open-sandbox-api-key",
    }
    for path in ("/v1/sandboxes", "/sandboxes/x/proxy/44772/command", "/x"):
        reply = api.request("OPTIONS", path, headers={"Origin": APP, **ask})
        assert reply.status == 204, reply
        assert reply.headers["Access-Control-Allow-Origin"] == APP
        assert "POST" in reply.headers["Access-Control-Allow-Methods"]
        assert (
            reply.headers["Access-Control-Allow-Headers"]
            == ask["Access-Control-Request-Headers"]
        )
        refused(
            api.request("OPTIONS", path, headers={**PAGE, **ask}),
            "AUTH::ORIGIN_NOT_ALLOWED",
        )


def test_a_unix_socket_with_an_allowed_page(service):
    daemon = service("--private", osbd_config=f"cors_origin = {APP}\n")
    reply = daemon.api().get("/health", headers={"Origin": APP})
    assert reply.status == 200
    assert reply.headers["Access-Control-Allow-Origin"] == APP


def test_without_keys_none_can_be_allowed_by_tcp(service):
    daemon = service(listen=["127.0.0.1:0"], osbd_config=f"cors_origin = {APP}\n")
    refused(
        daemon.tcp().get("/health", headers={"Origin": APP}),
        "AUTH::ORIGIN_NOT_ALLOWED",
    )
