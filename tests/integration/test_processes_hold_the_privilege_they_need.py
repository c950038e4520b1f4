# SPDX-License-Identifier: Apache-2.0
"""osbd is nobody with nothing; separate binaries do the rest."""

import os

import osb
import procs


def test_osbd_is_unprivileged_and_confined(daemon):
    status = procs.status(daemon.osbd())
    assert status["Uid"].split()[0] != "0"
    assert len(set(status["Uid"].split())) == 1
    assert len(set(status["Gid"].split())) == 1
    assert "0" not in status["Groups"].split()
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"
    if not osb.SANITIZED:  # whose own calls are in no filter of ours
        assert status["Seccomp"] == "2"


def test_the_broker_is_no_new_privs_and_has_no_network_socket(daemon):
    inodes = {
        target
        for target in procs.links(daemon.pid, "fd").values()
        if target.startswith("socket:")
    }
    for table in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6"):
        for line in procs.read(daemon.pid, f"net/{table}").splitlines()[1:]:
            assert f"socket:[{line.split()[9]}]" not in inodes


def test_each_has_a_binary_of_its_own(daemon):
    exe = {os.path.basename(os.readlink(f"/proc/{p}/exe")) for p in daemon.pids()}
    assert exe == {"osb-broker", "osbd", "osb-init"}


def test_the_launcher_holds_five_capabilities_in_the_domain(daemon):
    names = {1: "DAC_OVERRIDE", 6: "SETGID", 7: "SETUID", 12: "NET_ADMIN",
             21: "SYS_ADMIN"}  # fmt: skip
    allowed = sum(1 << bit for bit in names)
    for pid in daemon.launchers():
        assert int(procs.status(pid)["CapEff"], 16) & ~allowed == 0
        assert procs.links(pid, "ns")["user"] != os.readlink("/proc/self/ns/user")


def test_a_sandbox_init_is_not_root_of_the_host(daemon, sandbox):
    inits = [
        p
        for p in procs.descendants(daemon.pid)
        if procs.status(p).get("NSpid", "").split()[1:] == ["1"]
    ]
    assert inits
    for pid in inits:
        assert int(procs.status(pid)["Uid"].split()[0]) >= 65536
        assert procs.status(pid)["NoNewPrivs"] == "1"
