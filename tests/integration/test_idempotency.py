# SPDX-License-Identifier: Apache-2.0
"""A create that is sent again with its key is the same create."""

import concurrent.futures
import json
import socket
import threading
import time

import pytest

import api as http_api
import procs

CONFLICT = "SANDBOX::IDEMPOTENCY_CONFLICT"


def create(api, key, body=None, **changes):
    if body is None:
        body = {**http_api.CREATE_BODY, **changes}
    return api.request("POST", "/v1/sandboxes", body, {"Idempotency-Key": key})


def delete(api, reply):
    path = f"/v1/sandboxes/{reply.json()['id']}"
    assert api.request("DELETE", path).status == 204


def test_the_same_key_and_body_is_the_same_sandbox(daemon):
    api = daemon.api()
    first = create(api, "same-1", metadata={"n": "1"})
    assert first.status == 202, first
    for _ in range(3):
        again = create(api, "same-1", metadata={"n": "1"})
        assert (again.status, again.json()) == (202, first.json())
    assert api.ids() == [first.json()["id"]]
    delete(api, first)


def test_the_body_may_be_written_in_another_way(daemon):
    api = daemon.api()
    body = {**http_api.CREATE_BODY, "metadata": {"a": "1", "b": "2"}}
    first = create(api, "written", json.dumps(body).encode())
    other = dict(reversed([*body.items()]))
    other["metadata"] = {"b": "2", "a": "1"}
    again = create(api, "written", json.dumps(other, indent=4).encode())
    assert again.status == 202
    assert again.json()["id"] == first.json()["id"]
    delete(api, first)


def test_another_body_is_a_conflict(daemon):
    api = daemon.api()
    first = create(api, "other-1")
    again = create(api, "other-1", metadata={"n": "1"})
    assert (again.status, again.json()["code"]) == (409, CONFLICT)
    assert len(api.ids()) == 1
    delete(api, first)


def test_other_keys_and_no_key_are_other_sandboxes(daemon):
    api = daemon.api()
    made = [create(api, "k1"), create(api, "k2"), create(api, "K1")]
    made += [api.request("POST", "/v1/sandboxes", http_api.CREATE_BODY)]
    assert len({r.json()["id"] for r in made}) == 4
    for reply in made:
        delete(api, reply)


def test_fifty_at_once_are_one(daemon):
    api, go = daemon.api(), threading.Barrier(50)

    def one(_):
        go.wait()
        return create(api, "fifty", entrypoint=["sh", "-c", "echo x >>/tmp/starts"])

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        replies = list(pool.map(one, range(50)))
    assert {r.status for r in replies} == {202}
    assert len({r.json()["id"] for r in replies}) == 1
    assert len(api.ids()) == 1
    box = http_api.Sandbox(api, replies[0].json())
    procs.wait_for(
        lambda: box.download("/tmp/starts").status == 200, 5, "the entrypoint"
    )
    time.sleep(0.2)
    assert box.download("/tmp/starts").body == b"x\n", "started once"
    assert box.delete().status == 204


def test_fifty_with_other_bodies_make_one(daemon):
    api, go = daemon.api(), threading.Barrier(50)

    def one(number):
        go.wait()
        return create(api, "mixed", metadata={"n": str(number % 5)})

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        replies = list(pool.map(one, range(50)))
    good = [r for r in replies if r.status == 202]
    assert len(good) == 10
    assert len({r.json()["id"] for r in good}) == 1
    assert {r.json()["code"] for r in replies if r.status != 202} == {CONFLICT}
    assert len(api.ids()) == 1
    delete(api, good[0])


def test_a_client_that_left_finds_its_sandbox(daemon):
    api = daemon.api()
    body = json.dumps(http_api.CREATE_BODY).encode()
    with api.connect() as sock:
        sock.sendall(
            b"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\nIdempotency-Key: left\r\n"
            + b"Content-Length: %d\r\n\r\n" % len(body)
            + body
        )
        sock.shutdown(socket.SHUT_RDWR)
    procs.wait_for(api.ids, 5, "it was made")
    reply = create(api, "left")
    assert reply.status == 202
    assert api.ids() == [reply.json()["id"]]
    delete(api, reply)


def test_a_failed_create_frees_its_key(daemon):
    api = daemon.api()
    volumes = [{"name": "v", "mountPath": "/mnt", "host": {"path": "/nowhere"}}]
    for _ in range(2):
        assert create(api, "failed", volumes=volumes).status == 400
    assert create(api, "failed", entrypoint=[]).status == 400
    reply = create(api, "failed")
    assert reply.status == 202
    delete(api, reply)


def test_a_deleted_sandbox_keeps_its_key(daemon):
    api = daemon.api()
    delete(api, create(api, "deleted"))
    again = create(api, "deleted")
    assert (again.status, again.json()["code"]) == (409, CONFLICT)
    assert "gone" in again.json()["message"]
    assert api.ids() == []


def test_a_retry_of_what_succeeded_succeeds_where_all_is_full(service):
    config = "max_sandboxes = 1\ncreate_rate = 1\ncreate_burst = 1\n"
    api = service(keys={"a": "key-a"}, osbd_config=config).api(key="key-a")
    first = create(api, "full")
    assert first.status == 202
    assert create(api, "more").status == 429
    for _ in range(5):
        assert create(api, "full").json() == first.json()
    delete(api, first)


def test_keys_are_their_callers_own(service):
    daemon = service(keys={"ann": "key-a", "bob": "key-b"})
    ann, bob = daemon.api(key="key-a"), daemon.api(key="key-b")
    first, second = create(ann, "k"), create(bob, "k", metadata={"n": "1"})
    assert (first.status, second.status) == (202, 202)
    assert first.json()["id"] != second.json()["id"]
    delete(ann, first)
    delete(bob, second)


@pytest.mark.parametrize("key", ["", "a b", "a\tb", "\xe4", "x" * 256])
def test_what_can_be_no_key_is_400(daemon, key):
    reply = create(daemon.api(), key.encode("latin-1"))
    assert reply.status == 400, reply
    assert set(reply.json()) == {"code", "message"}
    assert daemon.api().ids() == []


def test_the_longest_key(daemon):
    api = daemon.api()
    key = "".join(chr(0x21 + i % 94) for i in range(255))
    first, again = create(api, key), create(api, key)
    assert (first.status, again.json()) == (202, first.json())
    delete(api, first)


def test_it_makes_no_sense_for_one_bound_to_its_connection(daemon):
    reply = create(daemon.api(), "bound", extensions={"osb.bind": "connection"})
    assert reply.status == 400
    assert "osb.bind" in reply.json()["message"]
