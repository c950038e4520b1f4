# SPDX-License-Identifier: Apache-2.0
"""An osbd that was taken over sends the broker wrong messages."""

import os
import pathlib
import stat

import pytest

import hostile
import procs

ID = b"0123456789abcdef0123456789abcdef"
U64, U32 = 2**64 - 1, 2**32 - 1
ID_BASE, BLOCKS, SLOT_IDS, SLOTS = 1879048192, 16, 65536, 256
CAPS_INSIDE = 0x800004FB
# Init's own, to answer calls; in nobody's bounding set.
CAP_SYS_PTRACE = 1 << 19

KINDS = ["hello", "create", "destroy", "leave"]


def refused(osbd, kind, **changes):
    answer = osbd.ask(kind, **changes)
    assert answer.refused, f"{kind} {changes}: {answer}"
    return answer


def test_before_hello_everything_is_refused(taken_over):
    service, osbd = taken_over(hello=False)
    with hostile.unharmed(service):
        for kind in KINDS[1:]:
            assert "state" in refused(osbd, kind, id=ID).text
    assert osbd.hello().good
    assert "state" in refused(osbd, "hello").text
    osbd.works()


def test_before_hello_the_state_is_what_refuses(taken_over):
    service, osbd = taken_over(hello=False, lax="state")
    assert osbd.ask("create", id=ID).good


def test_after_hello_it_cant_give_up(taken_over):
    service, osbd = taken_over()
    with hostile.unharmed(service):
        assert "state" in refused(osbd, "up").text
        osbd.works()


def test_operations_that_dont_exist_are_refused(taken_over):
    service, osbd = taken_over()
    with hostile.unharmed(service):
        for op in (0, 1, 3, 5, 7, 9, 11, 14, 255, 2**31, U32):
            assert "unknown" in refused(osbd, "hello", op=op).text
        osbd.works()


def test_lengths_off_by_one_are_refused(taken_over):
    service, osbd = taken_over()
    with hostile.unharmed(service):
        for kind in KINDS[1:]:
            longer = () if kind == "create" else ("+1", "+100")
            for length in ("-1", "8", "9", *longer):
                answer = refused(osbd, kind, id=ID, len=length)
                assert "length" in answer.text, answer
        # Too short for a tag, or too long for any message: no answer.
        for length in (1, 4, 7, "+1", 40000):
            assert osbd.send("create", id=ID, len=length) == "sent"
        assert osbd.do("drain 200") == "drained 0 0"
        osbd.works()


def test_a_short_message_would_be_completed_from_the_one_before(taken_over):
    service, osbd = taken_over(lax="length")
    assert osbd.ask("create", id=ID).good
    assert "in use" in refused(osbd, "create", id=ID).text
    assert osbd.ask("destroy", len=8).good, "the id was the last message's"


WRONG_IDS = {
    "empty": b"",
    "short": ID[:-1],
    "not terminated": ID + b"0",
    "hidden": ID[:31] + b"\0" + b"0",
    "upper case": ID.upper(),
    "slash": b"../" + ID[3:],
    "dots": b".." + ID[2:],
    "only dots": b"." * 32,
    "absolute": b"/" + ID[1:],
    "control": b"\n" + ID[1:],
    "high": b"\xff" * 33,
}


def test_ids_that_arent_are_refused(taken_over):
    service, osbd = taken_over()
    with hostile.unharmed(service):
        for wrong in WRONG_IDS.values():
            refused(osbd, "create", id=wrong)
            refused(osbd, "destroy", id=wrong)
        for unknown in (ID, b"f" * 32):
            assert "no sandbox" in refused(osbd, "destroy", id=unknown).text
        assert osbd.ask("create", id=ID).good
        assert "in use" in refused(osbd, "create", id=ID).text
        assert osbd.ask("destroy", id=ID).good
        osbd.works()


def test_an_id_that_is_a_path_reaches_no_other_folder(taken_over):
    service, osbd = taken_over()
    assert "hex" in refused(osbd, "create", id=b"../osbd").text
    assert service.socket.exists()


def test_an_id_that_is_a_path_would_reach_one(taken_over):
    """What couldn't be made is removed again: the broker's own socket."""
    service, osbd = taken_over(lax="spec")
    assert not osbd.ask("create", id=b"../osbd").good
    assert not service.socket.exists()


def test_names_that_arent_are_refused(taken_over):
    service, osbd = taken_over()
    wrong = [b"", b"a/b", b"..\x2f", b"a" * 64, b"a\0b", b"a b", b"\xff", b"a\n"]
    with hostile.unharmed(service):
        for name in wrong:
            refused(osbd, "create", id=ID, domain=name)
            refused(osbd, "create", id=ID, image=name)
        for name in (b"../host", b"Host", b"host/", b"h" * 128, b"host\0x"):
            refused(osbd, "create", id=ID, image=name)
        osbd.works()
    # Dots alone are no path: a domain names no file.
    for name in (b"..", b"."):
        assert osbd.ask("create", id=ID, domain=name).good
        assert osbd.ask("destroy", id=ID).good


LIMITS = {
    "memory": (4 << 20, 1 << 50),
    "disk": (64 << 10, 1 << 50),
    "shm": (4096, 1 << 50),
    "inodes": (16, 100000000),
    "cpu": (10, 1000000),
    "pids": (1, 30000),
    "nofile": (16, 16384),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits_out_of_range_are_refused(taken_over, name):
    service, osbd = taken_over()
    low, high = LIMITS[name]
    wide = U64 if high == 1 << 50 else U32
    with hostile.unharmed(service):
        for value in (0, low - 1, high + 1, wide, wide - 1, wide // 2 + 1,
                      wide - (16 << 20) + 1):  # fmt: skip
            if not low <= value <= high:
                answer = refused(osbd, "create", id=ID, **{name: value})
                assert name in answer.text, answer
        osbd.works()


def test_pairs_that_overflow_are_refused(taken_over):
    service, osbd = taken_over()
    with hostile.unharmed(service):
        for pair in (
            {"memory": U64 - (16 << 20) + 1, "disk": 1 << 20},
            {"memory": 1 << 50, "disk": (1 << 49) + 1},
            {"memory": 4 << 20, "disk": (2 << 20) + 1},
            {"memory": 1 << 63, "disk": 1 << 62},
            {"pids": U32},
            {"flags": 4},
            {"flags": U32},
            {"volumes": 9},
            {"volumes": U32},
        ):
            refused(osbd, "create", id=ID, **pair)
        osbd.works()


def assert_walled(service, init):
    """All that holds a sandbox, whatever it was asked to be."""
    status = procs.status(init)
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status
    assert int(status["CapBnd"], 16) == CAPS_INSIDE, status
    for name in ("CapEff", "CapPrm"):
        assert int(status[name], 16) == CAPS_INSIDE | CAP_SYS_PTRACE, status
    inside, host = procs.links(init, "ns"), procs.links("self", "ns")
    for kind in procs.NAMESPACES:
        assert inside[kind] != host[kind], kind
        assert inside[kind] != procs.links(service.pid, "ns")[kind], kind
    end = ID_BASE + BLOCKS * SLOTS * SLOT_IDS
    for name in ("uid_map", "gid_map"):
        lines = procs.read(init, name).splitlines()
        assert len(lines) == 1, lines
        first, at, length = map(int, lines[0].split())
        assert first == 0 and length == SLOT_IDS
        assert ID_BASE + SLOT_IDS <= at <= end - length
        assert at % SLOT_IDS == 0
    root = pathlib.Path(f"/proc/{init}/root")
    assert (root / "workspace").is_dir()
    assert not (root / service.home.relative_to("/")).exists()
    assert not (root / "etc/shadow").exists()


EXTREMES = {
    "least": {n: low for n, (low, _) in LIMITS.items()},
    "most": {n: high for n, (_, high) in LIMITS.items()} | {"disk": 1 << 49},
    "odd": {"memory": (64 << 20) + 1, "disk": 65537, "shm": 4097,
            "cpu": 11, "pids": 3, "inodes": 17, "nofile": 17},  # fmt: skip
}


@pytest.mark.parametrize("which", EXTREMES)
def test_what_is_legal_at_its_limit_has_every_wall(taken_over, which):
    service, osbd = taken_over()
    with hostile.unharmed(service):
        answer = osbd.ask("create", id=ID, **EXTREMES[which])
        if answer.good:
            (init,) = service.inits()
            assert_walled(service, init)
            assert osbd.ask("destroy", id=ID).good
        else:
            assert answer.refused, answer
        osbd.works()


FUSE_DEVICE = os.makedev(10, 229)
GIFTS = ["null", "memfd", "fifo", "socket", "directory", "fuse", "linger"]


def make_fuse(service):
    """The device where a hostile osbd may open it; see gift.c."""
    os.mknod(service.home / "fuse", 0o600 | stat.S_IFCHR, FUSE_DEVICE)
    os.chmod(service.home / "fuse", 0o666)


# sender: as on a kernel that can't refuse them when they are sent, where one
# kind holds up whoever gets it; see fdpass_refuse().
@pytest.mark.parametrize(
    "kind, lax",
    [(kind, lax) for kind in GIFTS for lax in (None, "sender")
     if (kind, lax) != ("linger", "sender")],
)  # fmt: skip
def test_descriptors_stay_with_their_sender(taken_over, kind, lax):
    service, osbd = taken_over(lax=lax)
    if kind == "fuse":
        make_fuse(service)
    with hostile.unharmed(service):
        for number in (1, 40, 250):
            for what in ("create", "destroy", "hello"):
                line = f"send {what} id={ID.hex()} fds={number}:{kind}"
                assert osbd.do(line) in ("EPERM", "sent")
        assert osbd.do("drain 200") == "drained 0 0"
        if kind != "fuse":  # which changes who osbd is
            osbd.works()


def test_descriptors_would_pile_up(taken_over):
    service, osbd = taken_over(lax="fds")
    before = service.fds()
    for _ in range(5):
        assert osbd.do(f"send destroy id={ID.hex()} fds=40:null") == "sent"
    procs.wait_for(lambda: service.fds() >= before + 150, 2, "they pile up")


@pytest.mark.parametrize("lax, kind", [("sender", "linger"), ("close", "fuse")])
def test_a_descriptor_would_hold_up_who_drops_it(taken_over, lax, kind):
    """A broker that receives it waits, for a process that does nothing."""
    service, osbd = taken_over(lax=lax)
    make_fuse(service)
    for _ in range(10):  # work, so that it drops it after osbd did
        assert osbd.send("create", id=osbd.new_id()) == "sent"
    assert osbd.do(f"send destroy id={ID.hex()} fds=1:{kind}") == "sent"
    assert not service.term(1)
