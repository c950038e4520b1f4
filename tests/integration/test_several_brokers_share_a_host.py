# SPDX-License-Identifier: Apache-2.0
"""Brokers lease id blocks under a lock. What a killed one held is kept for its
successor while sandboxes run in it; else it is taken over, and what is left is
ended first."""

import contextlib
import fcntl
import threading
import time

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


def killed_with(service, other_parent, parents, make):
    """A broker that was killed while block 0 was its; and another, which has
    block 1 and wants both. make(api) makes the first one's sandbox."""
    config = BLOCKS
    if parents == "two":
        config += f"cgroup_parent = {other_parent}\n"
    first = service("--private", config=config)
    second = service(keys=KEYS, config=BLOCKS)
    make(first.api())
    assert block_of(attack.host_pid_of("300.092")) == 0
    sleeping(second.api(key="key-a"), "300.093")
    first.kill()
    return first, second


def none_is_left(other_parent):
    assert procs.with_argument("300.092") == []
    for root in leaks.cgroup_roots():
        assert list((root / other_parent).glob("*/*/")) == []


@pytest.mark.parametrize("parents", ["one", "two"])
def test_a_killed_broker_that_kept_nothing_is_replaced(
    service, other_parent, parents
):
    held = []  # or it ends with the last reference to it

    def bound(api):
        held.append(api.create().exec("sleep", "300.092", bind=True))
        held[0].wait_started()

    _, second = killed_with(service, other_parent, parents, bound)
    # Its orphans must be gone before their ids are another's.
    _, _, pid = sleeping(second.api(key="key-b"), "300.094")
    assert block_of(pid) == 0
    none_is_left(other_parent)


@pytest.mark.parametrize("parents", ["one", "two"])
def test_what_a_killed_broker_kept_is_its_successors_as_long_as_one_can_be(
    service, other_parent, parents
):
    first, second = killed_with(
        service, other_parent, parents, lambda api: sleeping(api, "300.092")
    )
    kept = first.run_dir
    bob = second.api(key="key-b")
    body = {"image": {"uri": "host"}, "entrypoint": ["sleep", "infinity"]}
    body["resourceLimits"] = {}
    answer = bob.request("POST", "/v1/sandboxes", body)
    assert answer.status == 429, answer
    assert b"all 2 id blocks are in use" in answer.body

    # Nobody can be started there any more.
    kept.rename(first.home / "gone")
    _, _, pid = sleeping(bob, "300.094")
    assert block_of(pid) == 0
    none_is_left(other_parent)
    (first.home / "gone").rename(kept)


def test_its_successor_has_the_block_again(service):
    first = service("--private", config=BLOCKS)
    second = service(keys=KEYS, config=BLOCKS)
    box, _, _ = sleeping(first.api(), "300.095")
    box.start("sleep 300.096")
    init = attack.host_pid_of("300.096")
    sleeping(second.api(key="key-a"), "300.097")
    first.kill()
    first.restart()
    assert block_of(attack.host_pid_of("300.096")) == block_of(init) == 0
    _, _, pid = sleeping(first.api(), "300.098")
    assert block_of(pid) == 0


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


def test_who_only_looks_at_a_lease_takes_nothing_away(service):
    """Others lock it for a moment, to see for whom it is kept."""
    own = service("--private", config=BLOCKS)
    box = own.api().create()
    stop = threading.Event()

    def look():
        while not stop.is_set():
            for base in (FIRST, FIRST + BLOCK):
                with open(f"/run/opensandbox/ids/{base}", "rb") as lease:
                    with contextlib.suppress(BlockingIOError):
                        fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        time.sleep(0.002)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(10):
            own.kill()
            own.restart()
            assert box.run("echo", "there").stdout == b"there\n"
    finally:
        stop.set()
        looking.join()
