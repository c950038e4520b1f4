# SPDX-License-Identifier: Apache-2.0
"""Watches and leases on the image don't fall on the host's own files."""

import os
import subprocess
import time

import pytest

import attack

WATCH = """
import select
fd = check(libc.inotify_init(), "inotify_init")
check(libc.inotify_add_watch(fd, b"/usr/bin", 0x20), "inotify_add_watch")
print("watching"); sys.stdout.flush()
ready, _, _ = select.select([fd], [], [], 4)
worked() if ready else refused("saw nothing")
"""


def watch_while_the_host_works(argv):
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "watching\n"
    time.sleep(0.2)
    subprocess.run(["/usr/bin/factor", "6"], stdout=subprocess.DEVNULL)
    out, _ = process.communicate(timeout=20)
    return attack.Outcome(process.returncode, out)


def test_watch(daemon):
    source = attack.PRELUDE + WATCH
    outside = ["/usr/bin/python3", "-c", source]
    assert watch_while_the_host_works(outside).worked
    inside = daemon.popen(
        "run", "--user", "root", "--", "python3", "-c", source,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert inside.stdout.readline() == "watching\n"
    subprocess.run(["/usr/bin/factor", "6"], stdout=subprocess.DEVNULL)
    out, _ = inside.communicate(timeout=20)
    assert inside.returncode == attack.REFUSED, out


LEASE = """
import fcntl
fd = os.open(sys.argv[1] + "/osb-test-lease", os.O_CREAT | os.O_RDWR)
attempt(fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
worked()
"""


@pytest.mark.parametrize("user", ["root", "sandbox"])
def test_lease(daemon, tmp_path, user):
    assert attack.outside(LEASE, [tmp_path]).worked
    got = attack.inside(daemon, LEASE, ["/workspace"], user=user)
    assert got.refused, got


@pytest.fixture
def private_file():
    """One of the host root's, in a tree that the image shows."""
    path = f"/usr/local/osb-test-{os.getpid()}"
    with open(path, "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
        file.write("secret")
    yield path
    os.unlink(path)


def test_read_what_not_everybody_may(daemon, private_file):
    read = "attempt(open, sys.argv[1]); worked()"
    assert attack.outside(read, [private_file]).worked
    for user in ("root", "sandbox"):
        got = attack.inside(daemon, read, [private_file], user=user)
        assert got.refused, got
