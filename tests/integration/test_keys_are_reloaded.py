# SPDX-License-Identifier: Apache-2.0
"""SIGHUP: key file and osbd.conf are read anew, both or none."""

import os
import signal
import time

import pytest

import api as http_api
import procs

LOOPBACK = ["127.0.0.1:0"]
KEYS = {"ann": "key-a", "bob": "key-b"}


def status(daemon, key):
    return daemon.tcp(key=key).get("/v1/sandboxes").status


def test_a_removed_key_is_refused_from_the_next_request_on(service):
    daemon = service(listen=LOOPBACK, keys=KEYS)
    box = daemon.tcp(key="key-a").create()
    with daemon.tcp().connect() as sock:
        ask = (b"GET /v1/sandboxes HTTP/1.1\r\nHost: x\r\n"
               b"OPEN-SANDBOX-API-KEY: key-a\r\n\r\n")  # fmt: skip
        sock.sendall(ask)
        assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")
        daemon.write_keys({"bob": "key-b", "carl": "key-c"})
        assert daemon.reload() == "osbd: reloaded"
        sock.sendall(ask)  # on a connection that was there before
        assert sock.recv(65536).startswith(b"HTTP/1.1 401 ")
    assert [status(daemon, k) for k in ("key-a", "key-b", "key-c")] == [
        401, 200, 200,
    ]  # fmt: skip
    daemon.write_keys(KEYS)
    daemon.reload()
    assert daemon.tcp(key="key-a").ids() == [box.id]
    assert box.delete().status == 204


def test_what_runs_goes_on(service):
    daemon = service(listen=LOOPBACK, keys=KEYS)
    box = daemon.tcp(key="key-a").create()
    with box.exec("sh", "-c", "echo up; read x; echo $x", stdin=True) as running:
        running.wait_started()
        daemon.write_keys({"bob": "key-b"})
        daemon.reload()
        running.stdin(b"hello\n")
        assert running.wait().stdout == b"up\nhello\n"
    daemon.write_keys(KEYS)
    daemon.reload()
    assert box.delete().status == 204


def test_settings_too(service):
    daemon = service(listen=LOOPBACK, osbd_config="max_sandboxes = 1\n")
    api = daemon.tcp()
    box = api.create()
    assert api.request("POST", "/v1/sandboxes", http_api.CREATE_BODY).status == 429
    daemon.write_osbd_config("max_sandboxes = 2\n")
    daemon.reload()
    more = api.create()
    assert box.delete().status == more.delete().status == 204


@pytest.mark.parametrize("wrong", ["keys", "config", "gone"])
def test_a_bad_file_changes_nothing_of_either(service, wrong):
    daemon = service(
        listen=LOOPBACK, keys=KEYS, osbd_config="max_sandboxes = 1\n"
    )  # fmt: skip
    box = daemon.tcp(key="key-a").create()
    if wrong == "keys":
        (daemon.home / "keys").write_text("carl:key-c\n:nameless\n")
        daemon.write_osbd_config("max_sandboxes = 9\n")
        want = "osbd: reload: nothing is changed: key file, line 2: a name"
    elif wrong == "config":
        daemon.write_keys({"carl": "key-c"})
        daemon.write_osbd_config("max_sandboxes = much\n")
        want = (f"osbd: reload: nothing is changed: {daemon.home}/osbd.conf: "
                "line 2: max_sandboxes = much")  # fmt: skip
    else:
        daemon.write_osbd_config("max_sandboxes = 9\n")
        (daemon.home / "keys").unlink()
        want = f"osb-broker: read '{daemon.home}/keys': No such file"
    assert daemon.reload().startswith(want)
    assert [status(daemon, k) for k in ("key-a", "key-b", "key-c")] == [
        200, 200, 401,
    ]  # fmt: skip
    reply = daemon.tcp(key="key-a").request(
        "POST", "/v1/sandboxes", http_api.CREATE_BODY
    )
    assert reply.status == 429
    assert box.delete().status == 204


def test_the_next_osbd_has_the_new_keys(service):
    daemon = service(listen=LOOPBACK, keys=KEYS)
    daemon.write_keys({"bob": "key-b"})
    daemon.reload()
    first = daemon.osbd()
    os.kill(first, signal.SIGKILL)
    procs.wait_for(lambda: daemon.osbd() != first, 5, "osbd is back")
    assert status(daemon, "key-a") == 401 and status(daemon, "key-b") == 200


def test_many_at_once_do_no_harm(service):
    daemon = service(listen=LOOPBACK, keys=KEYS)
    before = len(procs.links(daemon.pid, "fd")), len(procs.links(daemon.osbd(), "fd"))
    for _ in range(500):
        os.kill(daemon.pid, signal.SIGHUP)
    assert status(daemon, "key-a") == 200
    time.sleep(0.5)
    after = len(procs.links(daemon.pid, "fd")), len(procs.links(daemon.osbd(), "fd"))
    assert after == before


def test_a_fifo_holds_nobody_up(service):
    daemon = service(listen=LOOPBACK, keys=KEYS)
    (daemon.home / "keys").unlink()
    os.mkfifo(daemon.home / "keys", 0o600)
    assert "nothing is changed" in daemon.reload()
    assert status(daemon, "key-a") == 200
    os.kill(daemon.pid, signal.SIGTERM)
    assert daemon.process.wait(timeout=6) == 0
