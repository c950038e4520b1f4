# SPDX-License-Identifier: Apache-2.0
"""PATCH .../metadata is a JSON merge patch, taken whole or not at all."""

import pytest


@pytest.fixture
def box(daemon):
    made = daemon.api().create(metadata={"team": "a", "x/y": "z"}, timeout=600)
    yield made
    made.delete()


def patch(box, body):
    return box.api.request("PATCH", box.path("/metadata"), body)


def test_it_adds_replaces_and_removes(box):
    reply = patch(box, {"team": "b", "x/y": None, "new": "", "gone": None})
    assert reply.status == 200, reply
    assert reply.json()["metadata"] == {"team": "b", "new": ""}
    assert reply.json() == box.get().json(), "the whole sandbox"
    listed = box.api.get("/v1/sandboxes?metadata=team%3Db%26new%3D").json()
    assert [item["id"] for item in listed["items"]] == [box.id]
    assert box.api.get("/v1/sandboxes?metadata=team%3Da").json()["items"] == []


def test_nothing_to_do_is_fine(box):
    for body in ({}, b""):
        reply = patch(box, body)
        assert reply.status == 200, reply
        assert reply.json()["metadata"] == {"team": "a", "x/y": "z"}


def test_without_any_it_has_no_metadata(box):
    reply = patch(box, {"team": None, "x/y": None})
    assert reply.status == 200
    assert "metadata" not in reply.json()
    assert patch(box, {"k": "v"}).json()["metadata"] == {"k": "v"}


@pytest.mark.parametrize(
    "bad",
    [{"opensandbox.io/x": "1"}, {"opensandbox.io/x": None}, {"a": 1},
     {"a": ["b"]}, {"a": {"b": "c"}}, {"a": True}, {"-a": "b"}, {"a": "-b"},
     {"a": "x" * 64}, {"k" * 64: "v"}, {"": "v"}, {"a": "b c"}, {"A/b": "c"},
     {f"k{i}": "v" for i in range(63)}],
)  # fmt: skip
def test_a_bad_label_changes_nothing_at_all(box, bad):
    reply = patch(box, {"team": "changed", **bad})
    assert reply.status == 400, reply
    assert reply.json()["code"] == "INVALID_METADATA_LABEL"
    assert box.get().json()["metadata"] == {"team": "a", "x/y": "z"}


@pytest.mark.parametrize("body", [b"[]", b"null", b"{", b'{"a": "b"', b'"a"'])
def test_what_is_no_object_is_400(box, body):
    reply = patch(box, body)
    assert (reply.status, reply.json()["code"]) == (
        400, "SANDBOX::INVALID_PARAMETER",
    )  # fmt: skip


def test_as_many_as_a_create_may_have(box):
    full = {f"k{i}": str(i) for i in range(62)}
    assert patch(box, full).status == 200
    assert patch(box, {"more": "1"}).status == 400
    assert patch(box, {"more": "1", "k0": None}).status == 200
    assert len(box.get().json()["metadata"]) == 64


def test_an_unknown_sandbox_is_404(daemon):
    path = f"/v1/sandboxes/{'0' * 32}/metadata"
    assert daemon.api().request("PATCH", path, {"a": "b"}).status == 404
    assert daemon.api().request("POST", path, {"a": "b"}).status == 405


def test_another_domain_cannot_patch(service):
    daemon = service(keys={"ann": "key-a", "bob": "key-b"})
    box = daemon.api(key="key-a").create(metadata={"a": "b"})
    path = box.path("/metadata")
    assert daemon.api(key="key-b").request("PATCH", path, {"a": "c"}).status == 404
    assert daemon.api().request("PATCH", path, {"a": "c"}).status == 401
    assert box.get().json()["metadata"] == {"a": "b"}
    box.delete()
