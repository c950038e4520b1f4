# SPDX-License-Identifier: Apache-2.0
"""A launcher that was taken over answers the broker wrongly.

Which way, it learns from osbd's name; see tests/hostile/init.c.
"""

import contextlib

import pytest

import hostile
import procs

FOREIGN, SILENT, TWICE = 1, 2, 11
WAYS = {
    "short": 3, "long": 4, "another operation": 5, "a negative errno": 6,
    "descriptors": 7, "no process": 8, "an error without an end": 9,
    "its own death": 10,
}  # fmt: skip
TAKE = {"osb-init": hostile.HOSTILE / "osb-init"}


@contextlib.contextmanager
def answering(osbd, way, pid=0):
    osbd.do(f"name way{way:02x}{pid & 0xFFFFFFFF:08x}")
    yield
    osbd.do("name osbd")


def assert_ended(service, osbd):
    """Refused; nothing of it is left, and the next sandbox is made."""
    procs.wait_for(lambda: not service.inits(), 2, "what it made ends")
    osbd.works()


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_that_isnt_one_makes_no_sandbox(taken_over, way):
    service, osbd = taken_over(take=TAKE)
    identity = osbd.new_id()
    with hostile.unharmed(service):
        with answering(osbd, WAYS[way]):
            answer = osbd.ask("create", id=identity)
        assert answer.refused or (way == "descriptors" and answer.good), answer
        if answer.good:  # it couldn't send them, and had another try
            assert osbd.ask("destroy", id=identity).good
        assert_ended(service, osbd)


def strangers(service, osbd):
    """Processes that no launcher has made for this sandbox."""
    own = service.launchers()
    assert osbd.ask("create", id=osbd.new_id(), domain=b"other").good
    (other,) = [p for p in service.launchers() if p not in own]
    (sandbox,) = service.inits()
    yield "nobody", 30000
    yield "negative", -1
    yield "negative", -2147483648
    yield "the broker", 1
    yield "osbd", service.inner_pid(service.osbd())
    yield "a launcher", service.inner_pid(other)
    yield "a sandbox", service.inner_pid(sandbox)


def test_a_foreign_process_becomes_no_sandbox(taken_over):
    service, osbd = taken_over(take=TAKE)
    front = service.osbd()
    others = service.inits
    for what, pid in strangers(service, osbd):
        with answering(osbd, FOREIGN, pid):
            answer = osbd.ask("create", id=osbd.new_id())
        assert answer.refused, f"{what}: {answer}"
        assert service.osbd() == front and procs.is_alive(front), what
        osbd.works()
    assert len(others()) == 1, "the other domain's sandbox goes on"
    assert service.is_alive()


def test_a_foreign_process_would_become_one(taken_over):
    """And the broker would end osbd with it."""
    service, osbd = taken_over(take=TAKE, lax="child")
    front = service.osbd()
    identity = osbd.new_id()
    with answering(osbd, FOREIGN, service.inner_pid(front)):
        assert osbd.ask("create", id=identity).good
    osbd.do("send " + hostile.request("destroy", id=identity))
    procs.wait_for(lambda: not procs.is_alive(front), 2, "osbd is killed")


def test_silence_ends_the_launcher(taken_over):
    """The broker waits for it meanwhile: CLONE_TIMEOUT_MS, 5 s."""
    service, osbd = taken_over(take=TAKE)
    launcher = service.launchers()[0]
    with answering(osbd, SILENT):
        assert osbd.send("create", id=osbd.new_id()) == "sent"
        procs.wait_for(lambda: not procs.is_alive(launcher), 7, "it is ended")
    osbd.do("drain 1000")
    assert_ended(service, osbd)


def test_two_answers_to_one_order_end_it_with_the_next(taken_over):
    service, osbd = taken_over(take=TAKE)
    with answering(osbd, TWICE):
        assert osbd.ask("create", id=osbd.new_id()).good
    osbd.ask("create", id=osbd.new_id())  # gets the other answer
    osbd.works()
    assert len(service.inits()) <= 2
