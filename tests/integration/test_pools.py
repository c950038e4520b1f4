# SPDX-License-Identifier: Apache-2.0
"""Sandboxes made ahead are like any other, and nobody's until they are taken."""

import os
import signal
import time

import api as http_api
import osb
import procs
import pytest

MAX = 4


def waiting(daemon):
    """Ids that have a socket and are no sandbox of anybody's."""
    there = {path.stem for path in (daemon.run_dir / "s").glob("*.sock")}
    return there - set(daemon.api().ids())


def inits(daemon):
    return [
        p
        for p in daemon.children("osb-init")
        if procs.status(p).get("NSpid", "").split()[1:][-1:] == ["1"]
    ]


@pytest.fixture
def pooled():
    with osb.making(osb.Service) as make:
        yield lambda *args, **kwargs: make(
            "--private",
            *args,
            osbd_config=f"pool_max = {MAX}\ncreate_rate = 0\n",
            **kwargs,
        )


def fill(daemon, **changes):
    """Until as many wait as there may be, for creates like these."""
    boxes = [daemon.api().create(**changes) for _ in range(MAX)]
    procs.wait_for(lambda: len(waiting(daemon)) == MAX, 10, "the pool is full")
    for box in boxes:
        box.delete()


def test_one_that_waited_is_taken_with_all_that_was_asked_for(pooled):
    daemon = pooled()
    fill(daemon)
    ready = waiting(daemon)
    box = daemon.api().create(
        metadata={"team": "a"},
        env={"WHO": "me"},
        timeout=600,
        resourceLimits={"memory": "600Mi", "cpu": "250m"},
    )
    assert box.id in ready, "it was there before"
    record = box.get().json()
    assert record["metadata"] == {"team": "a"}
    assert record["resourceLimits"]["memory"] == str(600 << 20)
    assert record["resourceLimits"]["cpu"] == "250m"
    assert "expiresAt" in record
    events = box.command("echo $WHO; touch /workspace/x; ls /workspace")
    assert [e["text"] for e in events if e["type"] == "stdout"] == ["me", "x"]
    assert box.delete().status == 204


def test_its_limits_are_those_that_were_asked_for(pooled):
    daemon = pooled()
    fill(daemon)
    ready = waiting(daemon)
    box = daemon.api().create(resourceLimits={"memory": "600Mi", "cpu": "200m"})
    assert box.id in ready
    eat = "import sys; x = bytearray(int(sys.argv[1]) << 20)"
    good = box.run("/usr/bin/python3", "-c", eat, "400").verdict
    assert good["verdict"] == "exited" and good["exit_code"] == 0, good
    bad = box.run("/usr/bin/python3", "-c", eat, "700").verdict
    assert bad["verdict"] == "oom", bad
    burn = "import time; t = time.monotonic()\nwhile time.monotonic() - t < 2: 1"
    slow = box.run("/usr/bin/python3", "-c", burn).verdict
    assert slow["cpu_ms"] < 1000, slow  # of 2000, at a fifth of a processor
    box.delete()


@pytest.mark.parametrize(
    "changes",
    [
        {"resourceLimits": {"pids": "17"}},
        {"resourceLimits": {"disk": "32Mi"}},
        {"resourceLimits": {"memory": "64Mi", "disk": "48Mi"}},
        {"resourceLimits": {"shm": "1Mi"}},
        {"resourceLimits": {"nofile": "64"}},
        {"resourceLimits": {"inodes": "100"}},
    ],
)
def test_one_that_does_not_fit_is_made(pooled, changes):
    daemon = pooled()
    fill(daemon)
    ready = waiting(daemon)
    box = daemon.api().create(**changes)
    assert box.id not in ready
    box.delete()


def test_nobody_gets_another_ones(pooled):
    with osb.making(osb.Service) as make:
        daemon = make(
            keys={"a": "key-a", "b": "key-b"},
            osbd_config=f"pool_max = {MAX}\n",
        )
        api_a, api_b = daemon.api(key="key-a"), daemon.api(key="key-b")
        boxes = [api_a.create() for _ in range(MAX)]

        def sockets():
            return {path.stem for path in (daemon.run_dir / "s").glob("*.sock")}

        procs.wait_for(lambda: len(sockets()) == 2 * MAX, 10, "the pool is full")
        assert api_b.ids() == []
        for ready in sockets():
            assert api_b.get(f"/v1/sandboxes/{ready}").status == 404
            assert api_b.get(f"/sandboxes/{ready}/proxy/44772/ping").status == 404
        before = sockets()
        box = api_b.create()
        assert box.id not in before
        for one in (box, *boxes):
            one.delete()


def test_one_that_died_while_it_waited_is_not_given_out(pooled):
    daemon = pooled()
    fill(daemon)
    ready = waiting(daemon)
    for pid in inits(daemon):
        os.kill(pid, signal.SIGKILL)
    procs.wait_for(lambda: not ready & waiting(daemon), 5, "they are noticed")
    box = daemon.api().create()
    assert box.run("true").verdict["exit_code"] == 0
    box.delete()


@pytest.mark.parametrize("who", [("osbd",), ("broker",), ("osbd", "broker")])
def test_what_waits_ends_with_the_daemons_and_what_was_taken_does_not(pooled, who):
    daemon = pooled()
    fill(daemon)
    ready = waiting(daemon)
    box = daemon.api().create(timeout=600)
    assert box.id in ready
    daemon.kill(*who)
    if "broker" in who:
        daemon.restart()
    procs.wait_for(lambda: not ready & waiting(daemon), 5, "they are gone")
    assert daemon.api().ids() == [box.id]
    assert daemon.api().create().delete().status == 204
    assert daemon.api().request("DELETE", f"/v1/sandboxes/{box.id}").status == 204


def test_they_keep_nobody_here(pooled):
    daemon = pooled(idle_exit="2s")
    fill(daemon)
    procs.wait_for(lambda: not daemon.is_alive(), 20, "the broker leaves")


def test_too_many_go_again(pooled):
    daemon = pooled()
    fill(daemon)
    procs.wait_for(lambda: not waiting(daemon), 20, "nobody asks for them")


def test_they_make_room_for_whoever_asks(service):
    """Two id blocks, which callers hold who have no sandbox any more."""
    keys = {name: name * 32 for name in "abc"}
    daemon = service(
        keys=keys,
        config="id_base = 1476395008\nid_blocks = 2\n",  # nobody else's
        osbd_config="pool_min = 1\npool_max = 1\n",
    )
    for name in "ab":
        number = len(list((daemon.run_dir / "s").glob("*.sock")))
        daemon.api(keys[name]).create().delete()
        procs.wait_for(
            lambda: len(list((daemon.run_dir / "s").glob("*.sock"))) > number,
            10, "one waits",
        )  # fmt: skip

    def create():
        return daemon.api(keys["c"]).request(
            "POST", "/v1/sandboxes", http_api.CREATE_BODY
        )

    made = procs.wait_for(
        lambda: (reply := create()).status == 202 and reply, 5, "room"
    )
    daemon.api(keys["c"]).request("DELETE", f"/v1/sandboxes/{made.json()['id']}")


def test_a_caller_does_not_have_all_of_them(service):
    """Neither all kinds, nor more than the bound of all kinds together."""
    daemon = service("--private", osbd_config=f"pool_min = {MAX}\npool_max = {MAX}\n")
    limits = http_api.CREATE_BODY["resourceLimits"]
    for number in range(6):
        daemon.api().create(
            resourceLimits={**limits, "nofile": str(1000 + number)}
        ).delete()
    procs.wait_for(lambda: len(waiting(daemon)) == MAX, 10, "the pool is full")
    time.sleep(2)
    assert len(waiting(daemon)) == MAX
