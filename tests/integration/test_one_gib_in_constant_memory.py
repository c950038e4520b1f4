# SPDX-License-Identifier: Apache-2.0
"""Streams without end pass in constant memory, in both directions."""

import hashlib
import subprocess
import threading

import pytest

import procs

pytestmark = pytest.mark.memory

GIB = 1 << 30
ALLOWED_KIB = 16 * 1024


class Watch:
    """The peak of a process's memory, above what it has now."""

    def __init__(self, pid):
        self.pid = pid
        with open(f"/proc/{pid}/clear_refs", "w") as file:
            file.write("5")  # VmHWM starts again from VmRSS
        self.before = procs.memory_kib(pid, "VmRSS")

    def growth_kib(self):
        return procs.memory_kib(self.pid, "VmHWM") - self.before


class PeakOfShortLived(threading.Thread):
    """VmHWM of a process that will be gone when it could be asked."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.over = pid, 0, threading.Event()

    def run(self):
        while not self.over.wait(0.02):
            self.peak = max(self.peak, procs.memory_kib(self.pid, "VmHWM"))


def digest_of_stream(stream):
    digest, length = hashlib.sha256(), 0
    while chunk := stream.read(1 << 20):
        digest.update(chunk)
        length += len(chunk)
    return digest.hexdigest(), length


def expected_digest(unit):
    digest = hashlib.sha256()
    block = unit * ((1 << 20) // len(unit))
    for _ in range(1024):
        digest.update(block)
    return digest.hexdigest()


def measured(daemon, args, stdin):
    osbd = Watch(daemon.osbd())
    process = daemon.popen(*args, stdin=stdin, stdout=subprocess.PIPE)
    peak = PeakOfShortLived(process.pid)
    peak.start()
    digest, length = digest_of_stream(process.stdout)
    peak.over.set()
    peak.join()
    assert process.wait(timeout=30) == 0
    assert length == GIB
    assert osbd.growth_kib() < ALLOWED_KIB, "osbd grew"
    assert 0 < peak.peak < ALLOWED_KIB, "osb's whole memory"
    return digest


def test_an_endless_stdin_and_one_gib_back(daemon):
    yes = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
    try:
        args = ("run", "--", "head", "-c", "1G")
        digest = measured(daemon, args, yes.stdout)
    finally:
        yes.stdout.close()
        yes.wait(timeout=10)
    assert digest == expected_digest(b"y\n")


def test_one_gib_out(daemon):
    args = ("run", "--", "sh", "-c", "head -c 1G /dev/zero")
    digest = measured(daemon, args, subprocess.DEVNULL)
    assert digest == expected_digest(b"\0")


def test_a_reader_that_stops_stops_the_writer(daemon):
    """A paused client costs osbd its buffers, not the program's output."""
    osbd = Watch(daemon.osbd())
    process = daemon.popen("run", "--", "yes", stdout=subprocess.PIPE)
    try:
        assert process.stdout.read(2) == b"y\n"
        threading.Event().wait(1.0)
        assert osbd.growth_kib() < ALLOWED_KIB
    finally:
        process.stdout.close()
        process.wait(timeout=10)
    daemon.api().wait_gone(2)


def test_a_program_that_does_not_read_stops_the_client(daemon):
    osbd = Watch(daemon.osbd())
    yes = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
    process = daemon.popen("run", "--", "sleep", "2", stdin=yes.stdout)
    try:
        threading.Event().wait(1.0)
        assert osbd.growth_kib() < ALLOWED_KIB
        assert procs.memory_kib(process.pid, "VmHWM") < ALLOWED_KIB
    finally:
        yes.stdout.close()
        assert process.wait(timeout=10) == 0
        yes.kill()
        yes.wait()
