# SPDX-License-Identifier: Apache-2.0
"""Two API keys are two domains: other ids, other launchers, nothing shared."""

import fcntl
import os

import pytest

import attack
import procs

NS_GET_PARENT = 0xB702


def parent_userns(pid):
    """The inode of the user namespace above a process's own."""
    own = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY)
    try:
        parent = fcntl.ioctl(own, NS_GET_PARENT)
        try:
            return os.fstat(parent).st_ino
        finally:
            os.close(parent)
    finally:
        os.close(own)


def id_range(pid):
    """First host id and length of a process's uid map."""
    inside, outside, length = procs.read(pid, "uid_map").split()
    assert inside == "0"
    return range(int(outside), int(outside) + int(length))


class Two:
    """A sandbox with a sleeping program in each of two domains."""

    def __init__(self, service, keys=None, two_services=False):
        if two_services:
            daemons = [service("--private"), service("--private")]
            apis = [d.api() for d in daemons]
        else:
            daemons = [service(keys={"ann": "key-a", "bob": "key-b"})] * 2
            apis = [daemons[0].api(key="key-a"), daemons[0].api(key="key-b")]
        self.daemons = daemons
        self.boxes = [api.create() for api in apis]
        self.apis = apis
        self.execs, self.pids = [], []
        for i, box in enumerate(self.boxes):
            marker = f"300.06{i}"
            running = box.exec("sleep", marker)
            running.wait_started()
            self.execs.append(running)
            self.pids.append(attack.host_pid_of(marker))


@pytest.fixture(params=["keys", "sockets"])
def two(request, service):
    return Two(service, two_services=request.param == "sockets")


def test_their_id_ranges_do_not_touch(two):
    a, b = (id_range(pid) for pid in two.pids)
    assert len(a) == len(b) == 65536
    assert a[-1] < b[0] or b[-1] < a[0]


def test_their_user_namespaces_have_different_parents(two):
    a, b = (parent_userns(pid) for pid in two.pids)
    assert a != b
    assert os.stat("/proc/self/ns/user").st_ino not in (a, b)


def test_their_launchers_are_different_processes(two):
    launchers = {p for d in two.daemons for p in d.launchers()}
    assert len(launchers) == 2
    above = {parent_userns(pid) for pid in two.pids}
    own = {os.stat(f"/proc/{p}/ns/user").st_ino for p in launchers}
    assert own == above


def test_their_network_namespaces_differ(two):
    a, b = (procs.links(pid, "ns")["net"] for pid in two.pids)
    assert a != b
    assert os.readlink("/proc/self/ns/net") not in (a, b)


def test_neither_sees_the_others_processes(two):
    for box in two.boxes:
        done = box.run("sh", "-c", "cat /proc/[0-9]*/cmdline", user="root")
        own = two.boxes.index(box)
        assert f"300.06{own}".encode() in done.stdout
        assert f"300.06{1 - own}".encode() not in done.stdout


def test_neither_can_signal_the_other(two):
    script = (
        "import os, sys\n"
        "def signal(pid):\n"
        "    try: os.kill(pid, 9)\n"
        "    except OSError as e: print(e.errno)\n"
        "own = {int(p) for p in os.listdir('/proc') if p.isdigit()}\n"
        "if int(sys.argv[1]) not in own: signal(int(sys.argv[1]))\n"
        "else: print(3)\n"
    )
    for i, box in enumerate(two.boxes):
        target = two.pids[1 - i]
        done = box.run(
            "/usr/bin/python3", "-c", script, str(target), user="root"
        )
        assert done.stdout == b"3\n", (done.stdout, done.stderr)
        assert procs.is_alive(target)


def test_a_foreign_sandbox_is_not_found(service):
    two = Two(service)
    ann, bob = two.apis
    theirs = two.boxes[1].id
    assert [item for item in ann.ids()] == [two.boxes[0].id]
    for method, rest in [
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/endpoints/44772"),
        ("GET", "/exec"),
    ]:
        reply = ann.request(method, f"/v1/sandboxes/{theirs}{rest}")
        assert reply.status == 404, reply
    assert bob.request("GET", f"/v1/sandboxes/{theirs}").status == 200


def test_without_a_key_or_with_a_wrong_one_nothing_is_answered(service):
    daemon = service(keys={"ann": "key-a"})
    reply = daemon.api().get("/v1/sandboxes")
    assert (reply.status, reply.json()["code"]) == (401, "MISSING_API_KEY")
    reply = daemon.api(key="nope").get("/v1/sandboxes")
    assert (reply.status, reply.json()["code"]) == (401, "INVALID_API_KEY")
    assert daemon.api().get("/health").status == 200
    assert daemon.api(key="key-a").get("/v1/sandboxes").status == 200


def test_keys_never_show_in_a_command_line(service):
    daemon = service(keys={"ann": "key-very-secret"})
    daemon.api(key="key-very-secret").create().delete()
    for pid in procs.descendants(os.getpid()):
        assert "key-very-secret" not in " ".join(procs.cmdline(pid))
