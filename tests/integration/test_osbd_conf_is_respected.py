# SPDX-License-Identifier: Apache-2.0
"""osbd.conf bounds what osbd takes on; a bad one is one clear line."""

import contextlib
import os
import signal
import subprocess
import time

import pytest

import api as http_api
import osb
import procs

def refused(api):
    reply = api.request("POST", "/v1/sandboxes", http_api.CREATE_BODY)
    assert reply.status == 429, reply
    assert reply.json()["code"] == "SANDBOX::QUOTA_EXCEEDED"
    return reply.json()["message"]


def seconds_until_closed(sock, limit=8):
    """What the peer says before it closes, and after how long."""
    start, received = time.monotonic(), b""
    sock.settimeout(limit)
    while chunk := sock.recv(65536):
        received += chunk
    return received, time.monotonic() - start


def test_max_sandboxes_is_for_one_caller(service):
    keys = {"ann": "key-a", "bob": "key-b"}
    daemon = service(keys=keys, osbd_config="max_sandboxes = 2\n")
    ann, bob = daemon.api(key="key-a"), daemon.api(key="key-b")
    boxes = [ann.create(), ann.create()]
    assert "no more than 2 sandboxes" in refused(ann)
    boxes.append(bob.create())  # another caller still may
    assert boxes[0].delete().status == 204
    boxes[0] = ann.create()  # and there is room again
    refused(ann)
    for box in boxes:
        assert box.delete().status == 204


def test_one_run_after_another_is_one_sandbox(service):
    """What is being ended when the next one comes doesn't count."""
    daemon = service("--private", osbd_config="max_sandboxes = 1\n")
    for i in range(20):
        done = daemon.run("--", "echo", str(i))
        assert (done.code, done.out) == (0, f"{i}\n"), done


def test_max_connections(service):
    daemon = service("--private", osbd_config="max_connections = 3\n")
    api = daemon.api()
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            sock = stack.enter_context(api.connect())
            sock.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert sock.recv(4096).startswith(b"HTTP/1.1 200 ")
        assert api.raw(b"").startswith(b"HTTP/1.1 503 ")
    head = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    procs.wait_for(
        lambda: api.raw(head).startswith(b"HTTP/1.1 200 "), 5, "room again"
    )


def test_max_body(service):
    daemon = service("--private", osbd_config="max_body = 2Ki\n")
    api = daemon.api()
    for length, status in [(2048, 400), (2049, 413)]:
        reply = api.request("POST", "/v1/sandboxes", b" " * length)
        assert reply.status == status, reply
        # Without a length in the head, it shows when it comes.
        answer = api.raw(
            b"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\n"
            b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"%x\r\n%b\r\n0\r\n\r\n" % (length, b" " * length)
        )
        assert answer.startswith(b"HTTP/1.1 %d " % status), answer
    assert reply.json()["code"] == "INVALID_REQUEST_BODY"
    assert "2048 bytes" in reply.json()["message"]
    box = api.create()
    assert box.upload(({"path": "/tmp/x"}, b"x" * 100000)).status == 200
    assert box.delete().status == 204


def test_max_body_may_be_raised(service):
    daemon = service("--private", osbd_config="max_body = 4Mi\n")
    reply = daemon.api().request("POST", "/v1/sandboxes", b" " * (4 << 20))
    assert reply.status == 400, reply


def test_head_timeout_closes_a_slow_head(service):
    daemon = service("--private", osbd_config="head_timeout = 1s\n")
    for sent in (b"", b"GET /health HT"):
        with daemon.api().connect() as sock:
            sock.sendall(sent)
            received, took = seconds_until_closed(sock)
            assert received == b"" and 0.9 < took < 4


def test_idle_timeout_closes_between_requests(service):
    daemon = service("--private", osbd_config="idle_timeout = 1s\n")
    with daemon.api().connect() as sock:
        sock.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        received, took = seconds_until_closed(sock)
        assert received.startswith(b"HTTP/1.1 200 ") and 0.9 < took < 4


def test_the_next_osbd_reads_it_too(service):
    daemon = service("--private", osbd_config="max_sandboxes = 1\n")
    first = daemon.osbd()
    os.kill(first, signal.SIGKILL)
    procs.wait_for(lambda: daemon.osbd() != first, 5, "osbd is back")
    box = daemon.api().create()
    refused(daemon.api())
    box.delete()


def test_no_file_is_fine(service):
    daemon = service("--private", osbd_config=None)
    assert daemon.run("--", "true").code == 0


@pytest.fixture
def start(tmp_path):
    """Start a broker that mustn't start: its line for whoever waits."""

    def start(*options):
        run = tmp_path / "run"
        run.mkdir(mode=0o755)
        config = tmp_path / "broker.conf"
        config.write_text(f"[broker]\ncgroup_parent = {osb.CGROUP_PARENT}\n")
        ready, write_end = os.pipe()
        began = time.monotonic()
        done = subprocess.run(
            [osb.BUILD / "osb-broker", "--run-dir", run, "--config", config,
             "--ready-fd", str(write_end), *options],
            capture_output=True, pass_fds=(write_end,), timeout=20,
        )  # fmt: skip
        os.close(write_end)
        with os.fdopen(ready) as pipe:
            line = pipe.read()
        assert done.returncode == 1
        assert time.monotonic() - began < 10
        assert done.stdout == b""
        assert done.stderr.decode() == f"osb-broker: {line}", "once"
        assert line.count("\n") == 1 and line.endswith("\n")
        assert not (run / "osbd.sock").exists()
        return line[:-1]

    return start


@pytest.mark.parametrize(
    "text, want",
    [
        ("[osbd]\nmax_body = 17Mi\n",
         "2: max_body = 17Mi: expected a size from 1Ki to 16Mi"),
        ("[osbd]\nmax_bodies = 1\n", "2: unknown key 'max_bodies'; osbd.conf(5)"),
        ("[broker]\nmax_body = 1Mi\n", "2: a key stands in section [osbd]"),
        ("[osbd]\nhello\n", "2: expected KEY = VALUE"),
        ("[osbd]\nmax_body = \x1b[2J\n", "2: max_body = ?[2J: expected"),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_clear_line(start, tmp_path, text, want):
    path = tmp_path / "osbd.conf"
    path.write_text(text)
    line = start("--osbd-config", path)
    assert line.startswith(f"{path}: line {want}"), line


def test_a_file_that_is_named_must_exist(start, tmp_path):
    path = tmp_path / "nothing"
    assert start("--osbd-config", path) == f"read '{path}': No such file or directory"


def test_what_is_no_file_is_said_too(start, tmp_path):
    line = start("--osbd-config", tmp_path)
    assert line == f"read '{tmp_path}': Is a directory"


def test_a_bad_key_file_is_one_clear_line_too(start, tmp_path):
    path = tmp_path / "keys"
    path.write_text("ann:key-a\n:key-b\n")
    assert start("--api-key-file", path).startswith("key file, line 2: a name")


def test_osb_itself_shows_the_line(tmp_path):
    """A bad default file must be understood by who only typed osb run."""
    path = tmp_path / "osbd.conf"
    path.write_text("[osbd]\nmax_body = much\n")
    socket = tmp_path / "s"
    script = (
        f"mount -t tmpfs t {tmp_path}/layer && cd {tmp_path}/layer && "
        "mkdir -p upper/opensandbox work && mv ../osbd.conf upper/opensandbox && "
        "mount -t overlay o -o lowerdir=/etc,upperdir=upper,workdir=work /etc && "
        f"exec {osb.BUILD}/osb run -- true"
    )
    (tmp_path / "layer").mkdir()
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        env=osb.clean_env(OSB_SOCKET=str(socket)), capture_output=True,
    )  # fmt: skip
    assert done.returncode == 125, done
    assert b"/etc/opensandbox/osbd.conf: line 2: max_body = much: expected" in (
        done.stderr
    )
    assert done.stderr.count(b"\n") == 1
