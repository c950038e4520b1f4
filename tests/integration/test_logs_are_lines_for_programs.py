# SPDX-License-Identifier: Apache-2.0
"""log = json, access_log = yes: one object per line, and never a key."""

import json
import re

import procs

LOOPBACK = ["127.0.0.1:0"]
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")


def entries(daemon):
    """osbd's lines; the broker and osb write text."""
    lines = [x for x in daemon.log().splitlines() if not x.startswith("osb")]
    return [json.loads(line) for line in lines]


def requests(daemon, num):
    procs.wait_for(lambda: len(entries(daemon)) >= num, 5, "lines in the log")
    found = entries(daemon)
    assert len(found) == num, found
    return found


def test_a_line_per_request(service):
    daemon = service(
        listen=LOOPBACK, keys={"ann": "key-secret"},
        osbd_config="log = json\naccess_log = yes\n",
    )  # fmt: skip
    api = daemon.tcp(key="key-secret")
    api.get("/v1/sandboxes?metadata=key-in-the-query%3Dx", headers={"X-Request-ID": "r1"})
    api.get("/nothing", headers={"X-Request-ID": 'a"\\<\x7f'.replace("\x7f", "")})
    daemon.tcp(key="key-wrong").get("/v1/sandboxes")
    first, second, third = requests(daemon, 3)
    assert first["level"] == "info" and TIME.match(first["time"]), first
    assert isinstance(first.pop("duration_ms"), int)
    first.pop("time")
    assert first == {
        "level": "info", "msg": "request", "request_id": "r1",
        "domain": "key:ann", "method": "GET", "path": "/v1/sandboxes",
        "status": 200,
    }  # fmt: skip
    assert second["status"] == 404 and second["request_id"] == 'a"\\<'
    assert third["status"] == 401 and "domain" not in third
    log = daemon.log()
    assert "key-secret" not in log and "key-wrong" not in log
    assert "key-in-the-query" not in log


def test_hostile_paths_are_one_line_each(service):
    daemon = service(listen=LOOPBACK, osbd_config="log = json\naccess_log = yes\n")
    api = daemon.tcp()
    paths = [b"/a\xff\xfe", b"/\xe2\x80\xa8x", b'/"\\', b"/%0a{}", b"/" + b"<" * 9000]
    for path in paths:
        api.raw(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n"
                b"X-Request-ID: " + b"<" * 128 + b"\r\n"
                b"Connection: close\r\n\r\n")  # fmt: skip
    found = requests(daemon, len(paths))
    shown = [entry["path"] for entry in found if entry["path"] != "-"]
    assert "/%0a{}" in shown
    for path in shown:
        assert len(path) < 512 and re.fullmatch(r"[!-~]*", path)
        assert '"' not in path and "\\" not in path
    assert all(len(line) < 4096 for line in daemon.log().splitlines())


def test_text_is_the_default_and_says_no_request(service):
    daemon = service(listen=LOOPBACK)
    daemon.tcp().get("/health")
    daemon.reload()
    assert [x for x in daemon.log().splitlines() if x.startswith("osbd")] == [
        "osbd: reloaded"
    ]


def test_access_as_text(service):
    daemon = service(listen=LOOPBACK, osbd_config="access_log = yes\n")
    daemon.tcp().get("/health", headers={"X-Request-ID": "r1"})
    procs.wait_for(lambda: "request=r1" in daemon.log(), 5, "a line")
    assert re.search(
        r"^osbd: GET /health 200 \d+ ms domain=- request=r1$", daemon.log(), re.M
    )


def test_errors_name_their_request(service):
    daemon = service(listen=LOOPBACK, osbd_config="log = json\n")
    daemon.write_osbd_config("log = yaml\n")
    daemon.reload()
    (entry,) = entries(daemon)
    assert entry["level"] == "error"
    assert "line 2: log = yaml: expected text or json" in entry["msg"]
    daemon.write_osbd_config("log = text\n")
    daemon.reload()
    assert "osbd: reloaded\n" in daemon.log()
