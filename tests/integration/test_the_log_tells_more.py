# SPDX-License-Identifier: Apache-2.0
"""A client learns only that something broke; the log says what."""

import contextlib

import leaks
import osb


def in_the_way():
    """Make the next sandbox's v2 group, so that the broker can't."""
    for root in leaks.cgroup_roots():
        for block in (root / osb.CGROUP_PARENT).glob("b96"):
            if (block / "cgroup.kill").exists():
                yield block


def test_an_internal_error_is_in_the_log_with_its_request(service):
    own = service(keys={"ann": "key-a"}, config="id_base = 1610612736\n")
    api = own.api(key="key-a")
    api.create().delete()
    (block,) = in_the_way()
    slots = [block / str(n) for n in range(1, 8)]
    for slot in slots:
        slot.mkdir()
    try:
        body = {"image": {"uri": "host"}, "resourceLimits": {}}
        body["entrypoint"] = ["sleep", "infinity"]
        reply = api.request("POST", "/v1/sandboxes", body)
        assert reply.status == 500, reply
        request = reply.headers["X-Request-ID"]
        assert request.encode() in reply.body
    finally:
        for slot in slots:
            with contextlib.suppress(FileNotFoundError):
                slot.rmdir()  # the broker's clean-up may have been first
    lines = [line for line in own.log().splitlines() if request in line]
    assert len(lines) == 1 and "make cgroup" in lines[0], own.log()
    api.create().delete()
