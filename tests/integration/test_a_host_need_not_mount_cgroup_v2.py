# SPDX-License-Identifier: Apache-2.0
"""Where only v1 hierarchies are mounted the broker mounts v2 for itself."""

import pathlib

import pytest

import procs

# In a mount namespace of its own, so that the host keeps it.
WITHOUT_V2 = [
    "unshare", "--mount", "sh", "-c",
    'umount -t cgroup2 -a && exec "$@"', "sh",
]  # fmt: skip


def has_v1():
    return " - cgroup " in pathlib.Path("/proc/self/mountinfo").read_text()


@pytest.fixture
def broker(service):
    if not has_v1():
        pytest.skip("this host has cgroup v2 only")
    own = service("--private", wrapper=WITHOUT_V2)
    mounted = procs.read(own.pid, "mountinfo")
    assert " - cgroup2 " not in mounted and " - cgroup " in mounted
    return own


def test_programs_run_there(broker):
    assert broker.run("--", "echo", "hello").out == "hello\n"


def test_a_deadline_ends_the_whole_tree_there(broker):
    script = "setsid sleep 300.0711 & (setsid sleep 300.0711 &) ; sleep 300.0711"
    done = broker.sh(script, "--timeout", "1s")
    assert done.code == 124, done
    procs.wait_for(lambda: not procs.with_argument("300.0711"), 2, "all ended")


def test_limits_hold_there(broker):
    report = broker.run(
        "--json", "--memory", "64Mi", "--", "tail", "/dev/zero"
    ).json()
    assert report["verdict"] == "oom", report
