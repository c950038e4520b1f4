# SPDX-License-Identifier: Apache-2.0
"""An osbd that was taken over floods the broker, stalls, leaves or dies."""

import time

import pytest

import hostile
import procs

ID = b"0123456789abcdef0123456789abcdef"
MANY = 100000


def assert_serves_again(service, osbd):
    """The broker has ended the hostile osbd and started another."""
    osbd.close()
    procs.wait_for(lambda: osbd.hello().good, 2, "a new osbd is served")
    osbd.works()


@pytest.fixture
def flooded(taken_over):
    """Run a command that ends osbd; the next one is served."""

    def flood(command):
        service, osbd = taken_over()
        with hostile.unharmed(service):
            start = time.monotonic()
            assert osbd.do(command) in ("gone", "ECONNRESET")
            assert time.monotonic() - start < 2
            assert_serves_again(service, osbd)

    return flood


@pytest.mark.parametrize("kind", ["hello", "destroy", "leave len=9"])
def test_who_reads_no_answer_is_ended(flooded, kind):
    flooded(f"repeat {MANY} {kind}")


def test_who_would_read_no_answer_would_stop_the_broker(taken_over):
    service, osbd = taken_over(lax="reader")
    osbd.sock.settimeout(1)
    with pytest.raises(TimeoutError):
        osbd.do(f"repeat {MANY} hello")
    assert not service.term(1)


@pytest.mark.parametrize("command", ["half", "close", "empty"])
def test_who_breaks_the_channel_is_ended(taken_over, command):
    service, osbd = taken_over()
    with hostile.unharmed(service):
        osbd.do(command)  # the answer may come before the end, or not
        time.sleep(0.1)
        assert_serves_again(service, osbd)


@pytest.mark.parametrize("command", ["half", "close"])
def test_a_broken_channel_would_keep_the_broker_busy(taken_over, command):
    service, osbd = taken_over(lax="end")
    before = hostile.cpu_seconds(service.pid)
    assert osbd.do(command) == "done"
    time.sleep(0.5)
    assert hostile.cpu_seconds(service.pid) - before > 0.2


@pytest.mark.parametrize("kind", ["hello len=4", "hello len=9", "leave op=77"])
def test_who_never_stops_talking_doesnt_stop_the_broker(taken_over, kind):
    """Whether it answers or not: a signal gets its turn."""
    service, osbd = taken_over()
    osbd.sock.sendall(f"talk {1000 * MANY} {kind}\n".encode())
    time.sleep(0.2)
    start = time.monotonic()
    assert service.term(2)
    assert time.monotonic() - start < 1


def test_talking_nonsense_for_long_is_survived(taken_over):
    service, osbd = taken_over()
    with hostile.unharmed(service):
        for kind in ("hello len=4", "hello", f"destroy id={ID.hex()}"):
            assert osbd.do(f"talk 1000 {kind}") == "sent"
        osbd.do("drain 100")
        osbd.works()


def test_a_silent_one_costs_nothing(taken_over):
    service, osbd = taken_over()
    time.sleep(0.3)  # what is made ahead is made
    before = hostile.cpu_seconds(service.pid)
    time.sleep(0.5)
    assert hostile.cpu_seconds(service.pid) - before <= 0.02
    start = time.monotonic()
    assert service.term(2)
    assert time.monotonic() - start < 1


def test_one_that_never_greets_is_ended_with_the_broker(taken_over):
    service, _ = taken_over(hello=False)
    start = time.monotonic()
    assert service.term(2)
    assert time.monotonic() - start < 1


def test_the_same_end_asked_for_5000_times(taken_over):
    """More than there is room to remember."""
    service, osbd = taken_over()
    assert osbd.ask("create", id=ID).good
    with hostile.unharmed(service):
        answer = osbd.do(f"talk 5000 destroy id={ID.hex()}")
        if answer == "gone":  # the answers came at once, and weren't read
            osbd.close()
            procs.wait_for(lambda: osbd.hello().good, 2, "a new osbd")
        osbd.do("drain 300")
        osbd.works()
        assert service.inits() == []


def test_a_storm_of_sandboxes_leaves_nothing(taken_over):
    service, osbd = taken_over()
    with hostile.unharmed(service):
        for i in range(30):
            identity = b"%032x" % i
            assert osbd.send("create", id=identity) == "sent"
            assert osbd.send("destroy", id=identity) == "sent"
        osbd.do("drain 1500")
        osbd.works()
        assert service.inits() == []


def test_leave_is_refused_while_a_sandbox_lives(taken_over):
    service, osbd = taken_over()
    assert osbd.ask("create", id=ID).good
    with hostile.unharmed(service):
        assert "running" in osbd.ask("leave").text
        assert service.socket.exists()
        assert osbd.ask("destroy", id=ID).good
        osbd.works()


def test_who_was_let_go_and_stays_is_ended(taken_over):
    """Or the next broker would wait for the run directory for ever."""
    service, osbd = taken_over()
    assert osbd.ask("leave").good
    assert osbd.ask("create", id=ID).refused
    assert service.left(4)


def test_who_was_let_go_would_stay(taken_over):
    service, osbd = taken_over(lax="patience")
    assert osbd.ask("leave").good
    assert not service.left(3)


def test_one_that_dies_in_the_middle_leaves_its_sandboxes_to_the_next(taken_over):
    service, osbd = taken_over()
    with hostile.unharmed(service):
        assert osbd.ask("create", id=ID).good
        other = osbd.new_id()
        assert osbd.send("create", id=other) == "sent"
        assert osbd.do("die") == "gone"
        assert_serves_again(service, osbd)
        assert not osbd.ask("create", id=ID).good, "the id is still in use"
        for left in (ID, other):
            assert osbd.ask("destroy", id=left).good
        procs.wait_for(lambda: service.inits() == [], 2, "they end")
        assert osbd.ask("create", id=ID).good, "the id is free again"
        assert osbd.ask("destroy", id=ID).good


def test_one_that_dies_at_once_three_times_is_given_up(taken_over):
    service, osbd = taken_over(hello=False)
    for _ in range(3):
        assert osbd.do("exit") == "gone"
    assert service.left(2)
    assert service.process.returncode != 0
    log = service.log().splitlines()
    assert len(log) == 1 and "as soon as it starts" in log[0], log
