# SPDX-License-Identifier: Apache-2.0
"""Brokers lease id blocks under a lock; what a crashed one held is taken over,
and what it left is ended first."""

import os
import signal

import pytest

import attack
import leaks
import osb
import procs

# Two blocks of their own, so that the test knows when there are no more.
BLOCK = 1 << 24
FIRST = 96 * BLOCK
BLOCKS = f"id_base = {FIRST}\nid_blocks = 2\n"
KEYS = {"ann": "key-a", "bob": "key-b"}


def id_of(pid):
    """The host id of a sandbox's root."""
    return int(procs.read(pid, "uid_map").split()[1])


def block_of(pid):
    return (id_of(pid) - FIRST) // BLOCK


def sleeping(api, marker):
    """A sandbox with a program in it, and that program's pid."""
    box = api.create()
    running = box.exec("sleep", marker)
    running.wait_started()
    return box, running, attack.host_pid_of(marker)


@pytest.fixture
def other_parent():
    """A cgroup parent that isn't the usual one of these tests."""
    name = f"{osb.CGROUP_PARENT}-other"
    yield name
    for root in leaks.cgroup_roots():
        if (root / name).exists():
            assert list((root / name).glob("*/")) == []
            (root / name).rmdir()


def test_two_brokers_share_no_slot(service):
    brokers = [service("--private") for _ in range(2)]
    ids = set()
    for i in range(6):
        _, _, pid = sleeping(brokers[i % 2].api(), f"300.08{i}")
        ids.add(id_of(pid) >> 16)
    assert len(ids) == 6
    assert len({number >> 8 for number in ids}) == 2, "a block each"


def test_blocks_that_another_holds_are_not_given(service):
    first = service("--private", config=BLOCKS)
    second = service(keys=KEYS, config=BLOCKS)
    sleeping(first.api(), "300.090")
    _, _, pid = sleeping(second.api(key="key-a"), "300.091")
    assert block_of(pid) == 1
    body = {"image": {"uri": "host"}, "entrypoint": ["sleep", "infinity"]}
    body["resourceLimits"] = {}
    answer = second.api(key="key-b").request("POST", "/v1/sandboxes", body)
    assert answer.status == 429, answer
    assert b"all 2 id blocks are in use" in answer.body


def test_a_block_that_is_kept_for_nothing_is_given_back(service):
    own = service(keys={**KEYS, "eve": "key-c"}, config=BLOCKS)
    for key in ("key-a", "key-b", "key-c", "key-a"):
        box = own.api(key=key).create()
        box.delete()


@pytest.mark.parametrize("parents", ["one", "two"])
def test_the_lease_of_a_killed_broker_is_taken_over(
    service, other_parent, parents
):
    config = BLOCKS
    if parents == "two":
        config += f"cgroup_parent = {other_parent}\n"
    first = service("--private", config=config)
    second = service(keys=KEYS, config=BLOCKS)
    _, _, left = sleeping(first.api(), "300.092")
    assert block_of(left) == 0
    sleeping(second.api(key="key-a"), "300.093")

    # Its orphans must be gone before their ids are another's.
    os.kill(first.pid, signal.SIGKILL)
    first.process.wait(5)
    _, _, pid = sleeping(second.api(key="key-b"), "300.094")
    assert block_of(pid) == 0
    assert procs.with_argument("300.092") == []
    for root in leaks.cgroup_roots():
        assert list((root / other_parent).glob("*/*/")) == []


def test_a_lease_that_names_nonsense_hurts_nobody(service):
    path = f"/run/opensandbox/ids/{FIRST}"
    for text in (b"../../..", b"/", b".", b"x" * 200, b"\0\0", b"a/b"):
        with open(path, "wb") as lease:
            lease.write(text)
        own = service("--private", config=BLOCKS)
        assert own.run("--", "echo", "fine").out == "fine\n"
        own.stop()


def test_a_base_that_would_overlap_is_refused(service):
    for base in (FIRST + 65536, FIRST + BLOCK // 2):
        with pytest.raises(RuntimeError, match="multiple of 16777216"):
            service("--private", config=f"id_base = {base}\n")
