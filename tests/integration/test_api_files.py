# SPDX-License-Identifier: Apache-2.0
"""/files/upload and /files/download: every byte, inside the sandbox only."""

import hashlib
import os

import pytest


def listed(box, path):
    out = box.run("stat", "-c", "%a %u %g %s", path, user="root").stdout
    return out.decode().split()


def test_what_goes_up_comes_down(sandbox):
    data = bytes(range(256)) * 40
    reply = sandbox.upload(({"path": "/workspace/a/b/data.bin"}, data))
    assert (reply.status, reply.body) == (200, b""), reply
    reply = sandbox.download("/workspace/a/b/data.bin")
    assert reply.status == 200
    assert reply.body == data
    assert reply.headers["Content-Length"] == str(len(data))
    assert reply.headers["Content-Type"] == "application/octet-stream"
    assert reply.headers["Accept-Ranges"] == "bytes"
    assert 'filename="data.bin"' in reply.headers["Content-Disposition"]


def test_an_empty_file(sandbox):
    assert sandbox.upload(({"path": "/workspace/empty"}, b"")).status == 200
    reply = sandbox.download("/workspace/empty")
    assert (reply.status, reply.body) == (200, b"")


def test_content_that_looks_like_a_boundary(sandbox):
    data = b"\r\n------------------osbtes\r\n--\r\n----------------osbtest\n" * 99
    assert sandbox.upload(({"path": "/workspace/x"}, data)).status == 200
    assert sandbox.download("/workspace/x").body == data


def test_several_pairs_in_one_request(sandbox):
    reply = sandbox.upload(
        ({"path": "/workspace/1"}, b"one"), ({"path": "/workspace/2"}, b"two")
    )
    assert reply.status == 200, reply
    assert sandbox.download("/workspace/1").body == b"one"
    assert sandbox.download("/workspace/2").body == b"two"


def test_it_replaces_and_shortens(sandbox):
    sandbox.upload(({"path": "/workspace/x"}, b"a long first content"))
    sandbox.upload(({"path": "/workspace/x"}, b"short"))
    assert sandbox.download("/workspace/x").body == b"short"


def test_the_mode_is_octal_in_decimal_digits(sandbox):
    sandbox.upload(({"path": "/workspace/x", "mode": 755}, b"#!/bin/sh\necho hi"))
    assert listed(sandbox, "/workspace/x")[0] == "755"
    assert sandbox.run("/workspace/x").stdout == b"hi\n"


def test_the_owner_is_by_name(sandbox):
    sandbox.upload(
        ({"path": "/workspace/x", "owner": "sandbox", "group": "sandbox"}, b"x")
    )
    assert listed(sandbox, "/workspace/x")[1:3] == ["1000", "1000"]
    sandbox.upload(({"path": "/workspace/y", "owner": "nobody-known"}, b"x"))
    assert listed(sandbox, "/workspace/y")[1] == "0", "unknown ones are ignored"


@pytest.mark.memory
def test_a_large_file_in_bounded_memory(daemon, sandbox):
    import procs

    data = os.urandom(1 << 20) * 48
    before = procs.memory_kib(daemon.osbd(), "VmRSS")
    assert sandbox.upload(({"path": "/workspace/big"}, data)).status == 200
    got = sandbox.download("/workspace/big").body
    assert hashlib.sha256(got).digest() == hashlib.sha256(data).digest()
    assert procs.memory_kib(daemon.osbd(), "VmRSS") - before < 16 * 1024


def test_a_full_disk_is_an_error_and_leaves_no_half_file(daemon):
    limits = {"memory": "64Mi", "disk": "4Mi"}
    box = daemon.api().create(resourceLimits=limits)
    reply = box.upload(({"path": "/workspace/big"}, b"x" * (8 << 20)))
    assert reply.status >= 400, reply
    assert set(reply.json()) == {"code", "message"}
    assert "space" in reply.json()["message"].lower()
    assert box.download("/workspace/big").status == 404
    assert box.upload(({"path": "/workspace/small"}, b"x")).status == 200
    box.delete()


@pytest.mark.parametrize(
    "header, status, expected",
    [
        ("bytes=0-3", 206, b"0123"),
        ("bytes=4-", 206, b"456789"),
        ("bytes=-3", 206, b"789"),
        ("bytes=8-99", 206, b"89"),
        ("bytes=0-0,5-6", 206, b"0"),
        ("bytes=-99", 206, b"0123456789"),
        ("bytes=10-", 416, None),
        ("bytes=5-2", 416, None),
        ("bytes=x-y", 416, None),
        ("lines=1-2", 416, None),
        ("bytes=99999999999999999999-", 416, None),
    ],
)
def test_ranges(sandbox, header, status, expected):
    sandbox.upload(({"path": "/workspace/x"}, b"0123456789"))
    reply = sandbox.download("/workspace/x", Range=header)
    assert reply.status == status, reply
    if expected is not None:
        assert reply.body == expected
        assert reply.headers["Content-Range"].endswith("/10")


def test_a_missing_file_is_404(sandbox):
    reply = sandbox.download("/workspace/nothing")
    assert (reply.status, reply.json()["code"]) == (404, "FILE_NOT_FOUND")


def test_a_directory_is_no_file(sandbox):
    reply = sandbox.download("/workspace")
    assert 400 <= reply.status < 600 and reply.status != 404, reply
    assert set(reply.json()) == {"code", "message"}


def test_no_path_is_400(sandbox):
    reply = sandbox.api.get(sandbox.proxy("/files/download"))
    assert (reply.status, reply.json()["code"]) == (400, "MISSING_QUERY")


def test_a_fifo_or_device_does_not_hang_or_answer(sandbox):
    sandbox.command("mkfifo /workspace/fifo")
    for path in ("/workspace/fifo", "/dev/zero"):
        assert sandbox.download(path).status >= 400


def test_the_path_is_the_sandboxs_not_the_hosts(sandbox):
    assert sandbox.download("/etc/shadow").status == 404
    assert b"sandbox" in sandbox.download("/etc/passwd").body


def test_a_symlink_leads_nowhere_outside(sandbox, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("the host's")
    sandbox.command(
        f"ln -s {secret} /workspace/a; ln -s / /workspace/root;"
        "ln -s /proc/1/root /workspace/p"
    )
    for path in ("a", f"root{secret}", f"p{secret}", f"../..{secret}"):
        reply = sandbox.download(f"/workspace/{path}")
        assert reply.status >= 400, reply
        assert b"the host's" not in reply.body
    sandbox.upload(({"path": "/workspace/a"}, b"changed"))
    assert secret.read_text() == "the host's"


def test_a_name_that_is_not_ascii(sandbox):
    path = "/workspace/caf\u00e9 \u2603.txt"
    assert sandbox.upload(({"path": path}, b"x")).status == 200
    reply = sandbox.download(path)
    assert reply.body == b"x"
    assert "filename*=UTF-8''" in reply.headers["Content-Disposition"]


BAD_BODIES = {
    "no multipart": (b"hello", "text/plain"),
    "no boundary": (b"hello", "multipart/form-data"),
    "never ends": (
        b'--b\r\nContent-Disposition: form-data; name="metadata"; '
        b'filename="m"\r\n\r\n{"path":"/workspace/x"}\r\n',
        "multipart/form-data; boundary=b",
    ),
    "metadata is no JSON": (
        b'--b\r\nContent-Disposition: form-data; name="metadata"; '
        b'filename="m"\r\n\r\nhello\r\n--b\r\nContent-Disposition: '
        b'form-data; name="file"; filename="f"\r\n\r\nx\r\n--b--\r\n',
        "multipart/form-data; boundary=b",
    ),
    "no path": (
        b'--b\r\nContent-Disposition: form-data; name="metadata"; '
        b'filename="m"\r\n\r\n{}\r\n--b\r\nContent-Disposition: '
        b'form-data; name="file"; filename="f"\r\n\r\nx\r\n--b--\r\n',
        "multipart/form-data; boundary=b",
    ),
    "file without metadata": (
        b'--b\r\nContent-Disposition: form-data; name="file"; '
        b'filename="f"\r\n\r\nx\r\n--b--\r\n',
        "multipart/form-data; boundary=b",
    ),
    "a boundary too long": (
        b"--" + b"b" * 300 + b"--\r\n",
        "multipart/form-data; boundary=" + "b" * 300,
    ),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_bad_upload_is_400(sandbox, name):
    body, content_type = BAD_BODIES[name]
    reply = sandbox.api.request(
        "POST",
        sandbox.proxy("/files/upload"),
        body,
        {"Content-Type": content_type},
    )
    assert reply.status == 400, reply
    assert set(reply.json()) == {"code", "message"}
    assert sandbox.run("ls", "-A", "/workspace").stdout == b""


def test_the_mode_without_being_asked_is_644(sandbox):
    sandbox.upload(({"path": "/workspace/d/x"}, b"x"))
    assert listed(sandbox, "/workspace/d/x")[0] == "644"
    assert listed(sandbox, "/workspace/d")[0] == "755"


def test_a_download_takes_its_path_verbatim(sandbox):
    sandbox.upload(({"path": "/tmp/$HOME", "verbatim": True}, b"x"))
    path = sandbox.proxy("/files/download?path=/tmp/%24HOME")
    assert sandbox.api.get(path).status == 404
    assert sandbox.api.get(path + "&verbatim=true").body == b"x"
    path = sandbox.proxy("/files/download?path=tmp/x&verbatim=true")
    assert sandbox.api.get(path).status == 400
