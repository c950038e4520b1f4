# SPDX-License-Identifier: Apache-2.0
"""An osbd that was taken over can do nothing by itself."""

import pytest

import hostile

ID = b"0123456789abcdef0123456789abcdef"

# As its user, without any filter; what root could do is the control.
GRABS = [
    "read /etc/shadow", "write /etc/passwd", "create x", "list",
    f"unlink {ID.decode()}.sock", "ptrace", "mount",
    "setns /proc/self/ns/net", "caps", "setuid", "kill",
]  # fmt: skip

# Behind the filter that it loads before its first client's first byte.
FILTERED = ["read /etc/passwd", "userns"]


@pytest.fixture
def grabbing(taken_over):
    def make(**kwargs):
        service, osbd = taken_over(**kwargs)
        assert osbd.ask("create", id=ID).good
        return service, osbd

    return make


def test_its_user_may_do_none_of_it(grabbing):
    service, osbd = grabbing()
    with hostile.unharmed(service):
        for what in GRABS:
            got = osbd.do(f"grab {what}")
            assert got in ("EACCES", "EPERM"), f"{what}: {got}"
        # What it is there for, it may.
        assert osbd.do(f"grab connect {ID.decode()}.sock") == "could"
        assert osbd.ask("destroy", id=ID).good
        osbd.works()


@pytest.mark.parametrize("what", [g for g in GRABS if g != "write /etc/passwd"])
def test_root_in_its_place_could(grabbing, what):
    service, osbd = grabbing(lax="privileges")
    assert osbd.do(f"grab {what}") == "could"


@pytest.mark.parametrize("what", FILTERED)
def test_behind_its_filter_not_even_what_everybody_may(grabbing, what):
    service, osbd = grabbing()
    assert osbd.do(f"grab {what}") == "could", "the control: without it"
    with hostile.unharmed(service):
        assert osbd.do("filter") == "done"
        assert osbd.do(f"grab {what}") in ("EPERM", "EACCES", "ENOSYS")
        assert osbd.ask("destroy", id=ID).good
        osbd.works()
