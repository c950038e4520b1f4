# SPDX-License-Identifier: Apache-2.0
"""A sandbox ends at its expiry, which can be moved until then."""

import concurrent.futures
import datetime
import time

import pytest


def text(seconds_ahead, zone=datetime.timezone.utc):
    now = datetime.datetime.now(datetime.timezone.utc)
    then = now + datetime.timedelta(seconds=seconds_ahead)
    return then.astimezone(zone).isoformat()


def renew(box, expires_at, **kwargs):
    return box.api.request(
        "POST", box.path("/renew-expiration"), {"expiresAt": expires_at}, **kwargs
    )


def seconds_left(record):
    then = datetime.datetime.fromisoformat(record["expiresAt"].replace("Z", "+00:00"))
    return then.timestamp() - time.time()


@pytest.fixture
def box(daemon):
    made = daemon.api().create(timeout=600)
    yield made
    made.delete()


def test_it_moves_both_ways(box):
    for ahead in (3600, 30, 86400 * 3650 - 60):
        reply = renew(box, text(ahead))
        assert reply.status == 200, reply
        assert set(reply.json()) == {"expiresAt"}
        assert abs(seconds_left(reply.json()) - ahead) < 2
        assert box.get().json()["expiresAt"] == reply.json()["expiresAt"]
        listed = box.api.get("/v1/sandboxes").json()["items"][0]
        assert listed["expiresAt"] == reply.json()["expiresAt"]


def test_a_time_is_taken_in_every_zone(box):
    base = datetime.datetime(2030, 1, 31, 12, 0, 0)
    now = datetime.datetime.utcnow()
    base = base.replace(year=now.year + 1)
    want = base.isoformat() + ".000000Z"
    for form in (
        "{0}Z", "{0}", "{0}+00:00", "{0}.000000000Z", "{0}.000Z",
    ):  # fmt: skip
        reply = renew(box, form.format(base.isoformat()))
        assert (reply.status, reply.json()["expiresAt"]) == (200, want), form
    east = (base + datetime.timedelta(hours=5, minutes=30)).isoformat()
    assert renew(box, east + "+05:30").json()["expiresAt"] == want
    west = (base - datetime.timedelta(hours=8)).isoformat()
    assert renew(box, west + "-08:00").json()["expiresAt"] == want
    fraction = renew(box, base.isoformat() + ".123456789Z")
    assert fraction.json()["expiresAt"] == base.isoformat() + ".123456Z"


@pytest.mark.parametrize(
    "value",
    ["", "soon", "2026-13-01T00:00:00Z", "2026-01-01", 1893456000, None, {},
     "2020-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1969-01-01T00:00:00Z"],
)  # fmt: skip
def test_a_bad_time_changes_nothing(box, value):
    before = box.get().json()["expiresAt"]
    reply = renew(box, value)
    assert reply.status == 400, reply
    assert set(reply.json()) == {"code", "message"}
    assert box.get().json()["expiresAt"] == before


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"{", b'"x"'])
def test_a_bad_body_is_400(box, body):
    reply = box.api.request("POST", box.path("/renew-expiration"), body)
    assert reply.status == 400, reply


def test_now_is_not_the_future(box):
    assert renew(box, text(-0.5)).status == 400
    assert renew(box, text(86400 * 3650 + 60)).status == 400
    assert box.get().status == 200


def test_what_never_expires_stays_so(sandbox):
    reply = renew(sandbox, text(60))
    assert (reply.status, reply.json()["code"]) == (
        409, "SANDBOX::INVALID_EXPIRATION",
    )  # fmt: skip
    assert "expiresAt" not in sandbox.get().json()


def test_an_unknown_sandbox_is_404(daemon):
    api = daemon.api()
    path = f"/v1/sandboxes/{'0' * 32}/renew-expiration"
    reply = api.request("POST", path, {"expiresAt": text(60)})
    assert (reply.status, reply.json()["code"]) == (404, "SANDBOX::NOT_FOUND")
    assert reply.headers["X-Request-ID"]
    assert api.request("GET", path).status == 405


def test_another_domain_cannot_renew(service):
    daemon = service(keys={"ann": "key-a", "bob": "key-b"})
    box = daemon.api(key="key-a").create(timeout=60)
    path = box.path("/renew-expiration")
    reply = daemon.api(key="key-b").request("POST", path, {"expiresAt": text(90)})
    assert reply.status == 404
    assert seconds_left(box.get().json()) < 61
    box.delete()


def test_it_ends_within_a_blink_of_its_expiry(daemon):
    boxes = [daemon.api().create(timeout=600) for _ in range(3)]
    for number, box in enumerate(boxes):
        assert renew(box, text(1 + number * 0.35)).status == 200
    for box in boxes:
        left = seconds_left(box.get().json())
        time.sleep(max(0, left - 0.1))
        assert box.get().status == 200, "not early"
        time.sleep(0.15)
        assert box.get().status == 404, "not late"


def test_a_renewal_before_the_expiry_wins(daemon):
    """However near: what was answered with 200 lives, with 404 is gone."""
    api, won, lost = daemon.api(), 0, 0
    for tick in range(12):
        box = api.create(timeout=600)
        end = time.time() + 0.08
        iso = datetime.datetime.fromtimestamp(end, datetime.timezone.utc).isoformat()
        assert renew(box, iso).status == 200
        time.sleep(max(0, end - time.time() - 0.006 + tick * 0.001))
        sent = time.time()
        reply = renew(box, text(600))
        if reply.status == 200:
            assert sent < end + 0.001
            time.sleep(0.05)
            assert box.get().status == 200
            assert box.delete().status == 204
            won += 1
        else:
            assert reply.status == 404, reply
            assert time.time() >= end
            assert box.get().status == 404
            lost += 1
    assert won >= 2 and won + lost == 12
    api.wait_gone(2)


def test_renewing_from_many_sides_ends_at_one_of_them(daemon):
    box = daemon.api().create(timeout=600)
    times = [text(1000 + i) for i in range(32)]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda t: renew(box, t), times))
    assert {r.status for r in replies} == {200}
    answers = {r.json()["expiresAt"] for r in replies}
    assert len(answers) == 32
    assert box.get().json()["expiresAt"] in answers
    box.delete()
