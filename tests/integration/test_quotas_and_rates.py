# SPDX-License-Identifier: Apache-2.0
"""What a caller may have and how fast, and that it is its own affair."""

import time

import pytest

import api as http_api

KEYS = {"ann": "key-a", "bob": "key-b"}


def create(api, **changes):
    body = {**http_api.CREATE_BODY, **changes}
    return api.request("POST", "/v1/sandboxes", body)


def limits(**extra):
    return {"resourceLimits": {**http_api.CREATE_BODY["resourceLimits"], **extra}}


def refused(reply, code, text):
    assert reply.status == 429, reply
    assert reply.json()["code"] == code
    assert text in reply.json()["message"], reply
    assert int(reply.headers["Retry-After"]) >= 1
    return int(reply.headers["Retry-After"])


def delete_all(api):
    for left in api.ids():
        assert api.request("DELETE", f"/v1/sandboxes/{left}").status == 204


@pytest.fixture
def two(service):
    def start(osbd_config):
        daemon = service(keys=KEYS, osbd_config=osbd_config)
        return daemon.api(key="key-a"), daemon.api(key="key-b")

    return start


def test_a_burst_of_creates_then_their_rate(two):
    ann, bob = two("create_rate = 2\ncreate_burst = 3\n")
    for _ in range(3):
        assert create(ann).status == 202
    wait = refused(create(ann), "SANDBOX::RATE_LIMITED", "2 creates per second")
    assert create(bob).status == 202, "one domain's 429 is no other one's"
    assert ann.get("/v1/sandboxes").status == 200, "only creates"
    time.sleep(wait)
    assert create(ann).status == 202
    delete_all(ann)
    delete_all(bob)


def test_what_is_refused_otherwise_takes_no_token(two):
    ann, _ = two("create_rate = 1\ncreate_burst = 2\nmax_sandboxes = 1\n")
    for _ in range(5):
        assert create(ann, entrypoint=[]).status == 400
    box = create(ann).json()
    for _ in range(5):
        refused(create(ann), "SANDBOX::QUOTA_EXCEEDED", "no more than 1 sandboxes")
    assert ann.request("DELETE", f"/v1/sandboxes/{box['id']}").status == 204
    assert create(ann).status == 202, "the second token was still there"
    delete_all(ann)


def test_requests_have_a_rate_too(two):
    ann, bob = two("request_rate = 5\n")
    replies = [ann.get("/v1/sandboxes") for _ in range(30)]
    good = [r for r in replies if r.status == 200]
    assert 10 <= len(good) <= 15
    wait = refused(replies[-1], "SANDBOX::RATE_LIMITED", "5 requests per second")
    assert bob.get("/v1/sandboxes").status == 200
    assert ann.get("/health").status == 200
    time.sleep(wait)
    assert ann.get("/v1/sandboxes").status == 200


def test_without_a_key_the_sandboxes_caller_pays(two):
    ann, bob = two("request_rate = 5\n")
    box = create(ann).json()
    other = create(bob).json()
    nobody = http_api.Api(ann.socket_path)
    ping = f"/sandboxes/{box['id']}/proxy/44772/ping"
    statuses = [nobody.get(ping).status for _ in range(30)]
    assert statuses[0] == 200 and statuses[-1] == 429
    ping = f"/sandboxes/{other['id']}/proxy/44772/ping"
    assert nobody.get(ping).status == 200
    time.sleep(1.2)
    delete_all(ann)
    delete_all(bob)


def test_a_connection_goes_on_after_a_429(two):
    ann, _ = two("request_rate = 1\n")
    connection = http_api.UnixConnection(ann.socket_path, 10)
    headers = {http_api.KEY_HEADER: "key-a"}
    statuses = []
    for _ in range(6):
        connection.request("GET", "/v1/sandboxes", headers=headers)
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()
    assert statuses[:2] == [200, 200] and statuses[-1] == 429


def test_a_private_daemon_has_no_rates(service):
    daemon = service("--private", osbd_config="create_rate = 1\ncreate_burst = 1\n")
    for _ in range(5):
        assert daemon.run("--", "true").code == 0


def test_guarantees_of_a_caller(two):
    ann, bob = two("max_guarantee = 100Mi\n")
    box = create(ann, **limits(guarantee="80Mi")).json()
    assert create(ann, **limits(guarantee="20Mi")).status == 202
    refused(
        create(ann, **limits(guarantee="1Mi")),
        "SANDBOX::QUOTA_EXCEEDED",
        "a caller has 100Mi of memory to guarantee, of which 100Mi are taken",
    )
    assert create(bob, **limits(guarantee="100Mi")).status == 202
    assert ann.request("DELETE", f"/v1/sandboxes/{box['id']}").status == 204
    assert create(ann, **limits(guarantee="80Mi")).status == 202
    delete_all(ann)
    delete_all(bob)


def test_guarantees_of_the_host(two):
    total = 1024 * int(
        next(s for s in open("/proc/meminfo") if s.startswith("MemTotal")).split()[1]
    )
    ann, bob = two(f"memory_reserve = {total - (200 << 20)}\n")
    big = limits(memory="1Gi", guarantee="150Mi")
    assert create(ann, **big).status == 202
    refused(create(bob, **big), "SANDBOX::QUOTA_EXCEEDED", "the host has")
    assert create(bob).status == 202, "16 MiB fit"
    delete_all(ann)
    assert create(bob, **big).status == 202
    delete_all(bob)


def test_limits_may_be_more_than_the_host_has(daemon):
    """Only what is guaranteed is weighed; memory is a bound, not a promise."""
    api = daemon.api()
    boxes = [api.create(resourceLimits={"memory": "1Ti"}) for _ in range(3)]
    for box in boxes:
        box.delete()


@pytest.mark.parametrize(
    "asked, want",
    [({}, 16 << 20), ({"memory": "8Mi"}, 8 << 20), ({"guarantee": "1Mi"}, 1 << 20),
     ({"memory": "64Mi", "guarantee": "64Mi"}, 64 << 20)],
)  # fmt: skip
def test_get_shows_the_guarantee(daemon, asked, want):
    box = daemon.api().create(resourceLimits=asked)
    assert box.get().json()["resourceLimits"]["guarantee"] == str(want)
    box.delete()


@pytest.mark.parametrize(
    "value", ["0", "-1", "x", "4095", "65Mi", "9999999999999999999"]
)
def test_a_bad_guarantee_is_400(daemon, value):
    body = limits(memory="64Mi", guarantee=value)
    reply = create(daemon.api(), **body)
    assert reply.status == 400, reply
    assert "guarantee '" in reply.json()["message"]


def test_a_reserve_beyond_the_host_is_one_clear_line(service):
    with pytest.raises(RuntimeError, match="memory_reserve = 1024Ti: the host has"):
        service(osbd_config="memory_reserve = 1024Ti\n")
