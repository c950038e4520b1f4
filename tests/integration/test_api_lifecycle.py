# SPDX-License-Identifier: Apache-2.0
"""Create, list, get and delete a sandbox, in the form clients rely on."""

import datetime
import re

import pytest

ISO = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")


def no_nulls(value):
    if isinstance(value, dict):
        return all(no_nulls(v) for v in value.values())
    if isinstance(value, list):
        return all(no_nulls(v) for v in value)
    return value is not None


def when(text):
    assert ISO.match(text), text
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def test_health(daemon):
    reply = daemon.api().get("/health")
    assert (reply.status, reply.json()) == (200, {"status": "healthy"})


def test_create_answers_202_with_a_running_sandbox(daemon):
    box = daemon.api().create(timeout=600, metadata={"team": "a", "x/y": ""})
    record = box.record
    assert record["status"]["state"] == "Running"
    assert record["entrypoint"] == ["tail", "-f", "/dev/null"]
    assert record["metadata"] == {"team": "a", "x/y": ""}
    age = when(record["expiresAt"]) - when(record["createdAt"])
    assert abs(age.total_seconds() - 600) < 2
    now = datetime.datetime.now(datetime.timezone.utc)
    assert abs((now - when(record["createdAt"])).total_seconds()) < 5
    assert no_nulls(record)
    assert box.delete().status == 204


def test_without_a_timeout_it_never_expires(daemon):
    for changes in ({}, {"timeout": None}):
        box = daemon.api().create(**changes)
        assert "expiresAt" not in box.record
        box.delete()


def test_an_explicit_null_timeout_is_accepted(daemon):
    import api as http_api

    body = {**http_api.CREATE_BODY, "timeout": None, "unknown": 1}
    reply = daemon.api().request("POST", "/v1/sandboxes", body)
    assert reply.status == 202, reply
    assert "expiresAt" not in reply.json()
    daemon.api().request("DELETE", f"/v1/sandboxes/{reply.json()['id']}")


def test_get_tells_what_was_asked_for(sandbox):
    reply = sandbox.get()
    assert reply.status == 200
    record = reply.json()
    assert record["id"] == sandbox.id
    assert record["image"]["uri"] == "host"
    assert record["status"]["state"] == "Running"
    assert record["entrypoint"] == ["tail", "-f", "/dev/null"]
    assert when(record["status"]["lastTransitionAt"])
    assert no_nulls(record)


def test_it_can_be_used_at_once(daemon):
    box = daemon.api().create()
    assert box.run("echo", "hi").stdout == b"hi\n"
    box.delete()


def test_delete_is_204_then_404(daemon):
    box = daemon.api().create()
    reply = box.delete()
    assert (reply.status, reply.body) == (204, b"")
    assert box.get().status == 404
    assert box.delete().status == 404


def test_delete_ends_its_programs(daemon):
    box = daemon.api().create()
    with box.exec("sleep", "300") as running:
        running.wait_started()
        assert box.delete().status == 204
        running.wait()
    assert running.verdict["verdict"] == "killed"


def test_every_route_is_there_with_and_without_v1(daemon):
    api = daemon.api()
    box = api.create()
    for prefix in ("", "/v1"):
        assert api.get(f"{prefix}/sandboxes").status == 200
        assert api.get(f"{prefix}/sandboxes/{box.id}").status == 200
        reply = api.get(f"{prefix}/sandboxes/{box.id}/endpoints/44772")
        assert reply.status == 200
        reply = api.get(f"{prefix}/sandboxes/{box.id}/proxy/44772/ping")
        assert (reply.status, reply.body) == (200, b"")
    assert api.request("DELETE", f"/sandboxes/{box.id}").status == 204


def test_list_is_newest_first_and_paged(daemon):
    api = daemon.api()
    boxes = [api.create(metadata={"n": str(i)}) for i in range(3)]
    listed = api.get("/v1/sandboxes").json()
    assert [item["id"] for item in listed["items"]] == [
        box.id for box in reversed(boxes)
    ]
    assert listed["pagination"] == {
        "page": 1, "pageSize": 20, "totalItems": 3, "totalPages": 1,
        "hasNextPage": False,
    }  # fmt: skip
    page = api.get("/v1/sandboxes?page=2&pageSize=2").json()
    assert [item["id"] for item in page["items"]] == [boxes[0].id]
    assert page["pagination"]["totalPages"] == 2
    assert page["pagination"]["hasNextPage"] is False
    assert no_nulls(listed)
    for box in boxes:
        box.delete()


def test_an_empty_list_has_no_pages(daemon):
    listed = daemon.api().get("/v1/sandboxes").json()
    assert listed["items"] == []
    assert listed["pagination"]["totalPages"] == 0


def test_list_filters_by_state_and_metadata(daemon):
    api = daemon.api()
    box = api.create(metadata={"team": "red", "k": "v"})
    other = api.create(metadata={"team": "blue"})

    def ids(query):
        reply = api.get(f"/v1/sandboxes?{query}")
        assert reply.status == 200, reply
        return [item["id"] for item in reply.json()["items"]]

    assert ids("metadata=team%3Dred") == [box.id]
    assert ids("metadata=team%3Dred%26k%3Dv") == [box.id]
    assert ids("metadata=team%3Dred%26k%3Dw") == []
    assert len(ids("state=running")) == 2
    assert len(ids("state=Paused&state=Running")) == 2
    assert ids("state=Paused") == []
    assert api.get("/v1/sandboxes?metadata=%3D%3D%3D").status == 400
    box.delete()
    other.delete()


@pytest.mark.parametrize(
    "query", ["page=0", "page=x", "pageSize=0", "pageSize=201", "pageSize=-1"]
)
def test_a_page_that_cannot_be_is_400(daemon, query):
    reply = daemon.api().get(f"/v1/sandboxes?{query}")
    assert reply.status == 400, reply
    assert set(reply.json()) == {"code", "message"}


def test_env_of_the_sandbox_reaches_its_commands(daemon):
    box = daemon.api().create(env={"COLOUR": "red"})
    events = box.command("echo $COLOUR")
    assert [e["text"] for e in events if e["type"] == "stdout"] == ["red"]
    box.delete()


def test_an_entrypoint_runs(daemon):
    box = daemon.api().create(
        entrypoint=["sh", "-c", "echo ran >/tmp/ran; sleep 300"]
    )
    done = box.run(
        "sh", "-c", "while [ ! -s /tmp/ran ]; do sleep 0.02; done; cat /tmp/ran"
    )
    assert done.stdout == b"ran\n"
    box.delete()


def test_limits_of_the_request_hold(daemon):
    limits = {"memory": "64Mi", "cpu": "500m"}
    box = daemon.api().create(resourceLimits=limits)
    done = box.run("/usr/bin/python3", "-c", "x = bytearray(200 << 20)")
    assert done.verdict["verdict"] == "oom"
    assert done.verdict["exit_code"] is None
    box.delete()


def test_the_example_of_the_readme_works(daemon):
    """The block under "Over HTTP", as it stands there."""
    import subprocess

    import osb

    text = (osb.ROOT / "README.md").read_text()
    block = text.split("## Over HTTP")[1].split("```sh\n")[1].split("```")[0]
    script = "set -e\n" + block.replace("build/osb", str(osb.BUILD / "osb"))
    done = subprocess.run(
        ["sh", "-c", script], env=daemon.env(), capture_output=True,
        text=True, timeout=30,
    )  # fmt: skip
    assert done.returncode == 0, done
    assert '"type":"stdout","text":"2"' in done.stdout, done
    assert "execution_complete" in done.stdout, done
    assert "}\n\n2\n{" in done.stdout, "the download"
    assert '"totalItems":1' in done.stdout, done
    assert '"code"' not in done.stdout, "no error"
