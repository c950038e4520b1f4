# SPDX-License-Identifier: Apache-2.0
"""Daemons with one process taken over: see tests/hostile/hostile.h.

The broker looks for the other programs beside its own, so a folder of links
decides who is hostile. It runs in a pid and mount namespace of its own: what
an attack, or a control that succeeds, kills or mounts there stays there.
"""

import contextlib
import itertools
import os
import re
import signal
import socket
import subprocess

import leaks
import osb
import procs

HOSTILE = osb.BUILD / "tests/hostile"
NUMBERS = itertools.count()
WITHIN_MS = 2000  # an answer, whatever was asked before


class Service(osb.Service):
    """take: {"osbd": HOSTILE / "osbd"}; lax: the check to leave out."""

    link_run_dir = False

    def __init__(self, *args, take=(), lax=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.take, self.lax = dict(take), lax
        # One that may have to be killed leaves something to be removed.
        self.cgroup_parent = osb.CGROUP_PARENT
        if lax:
            self.cgroup_parent += f"-lax-{next(NUMBERS)}"

    def _spawn(self):
        if self.link_run_dir:  # known by a name that isn't the real one
            (self.home / "link").symlink_to(self.home)
            self.run_dir = self.home / "link" / "run"
            self.socket = self.run_dir / "osbd.sock"
        programs = self.home / "bin"
        if not programs.exists():
            programs.mkdir()
            for name in ("osb-broker", "osbd", "osb-init", "osb-files"):
                source = self.take.get(name, osb.BUILD / name)
                if name == "osb-broker" and self.lax:
                    source = HOSTILE / "osb-broker-lax"
                # Not a link: /proc/self/exe would lead back.
                (programs / name).write_bytes(source.read_bytes())
                (programs / name).chmod(0o755)
        config = self.home / "broker.conf"
        config.write_text(
            f"[broker]\ncgroup_parent = {self.cgroup_parent}\n{self.config}"
        )
        argv = [
            "unshare", "--pid", "--mount", "--fork", "--mount-proc",
            "--kill-child", "--",
            str(programs / "osb-broker"),
            "--run-dir", str(self.run_dir),
            "--socket", str(self.socket),
            "--config", str(config),
            *self.args,
        ]  # fmt: skip
        env = osb.clean_env(TMPDIR=str(self.tmp_dir))
        if self.lax:
            env["OSB_LAX"] = self.lax
        with open(self.home / "log", "ab") as log:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=env, start_new_session=True,
            )  # fmt: skip
        procs.wait_for(
            lambda: self.socket.exists() and procs.comm(self.pid) == "osb-broker"
            or not self.is_alive(),
            5, "the broker listens",
        )  # fmt: skip
        if not self.is_alive():
            raise RuntimeError(self.log())

    @property
    def pid(self):
        """The broker's, as the host counts."""
        child = [
            p for p in procs.all_pids() if procs.parent(p) == self.process.pid
        ]
        return child[0] if child else 0

    def term(self, seconds=6):
        """Ask the broker to leave; has it, in time?"""
        pid = self.pid
        if pid > 1 and procs.comm(pid) == "osb-broker":
            os.kill(pid, signal.SIGTERM)
        return self.left(seconds)

    def left(self, seconds):
        """Does it leave by itself?"""
        try:
            self.process.wait(timeout=seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def stop(self, sig=signal.SIGTERM):
        if self.process and self.is_alive():
            done = self.term(1 if self.lax else 6)
            if not done:  # the namespace goes with its pid 1
                pid = self.pid
                if pid > 1:
                    os.kill(pid, signal.SIGKILL)
                self.process.wait(timeout=6)
            assert done or self.lax, "osb-broker ignored SIGTERM for 6 s"
        super().stop(sig)
        if self.lax:
            remove_cgroups(self.cgroup_parent)

    def has_left(self):
        """Nothing outlives it: its sandboxes are in its pid namespace."""
        return False

    def inner_pid(self, pid):
        """As the broker counts it."""
        return int(procs.status(pid)["NSpid"].split()[1])

    def inits(self):
        """Pid 1 of each sandbox, as the host counts."""
        return [
            p for p in self.children("osb-init")
            if len(procs.status(p).get("NSpid", "").split()) == 3
        ]  # fmt: skip

    def launchers(self):
        return [
            p for p in self.children("osb-init")
            if len(procs.status(p).get("NSpid", "").split()) == 2
        ]  # fmt: skip

    def fds(self):
        return len(procs.links(self.pid, "fd"))


def remove_cgroups(parent):
    """Of a broker that is gone, however it went."""
    for root in leaks.cgroup_roots():
        for folder, _, _ in os.walk(root / parent, topdown=False):
            procs.wait_for(lambda: removed(folder), 2, f"{folder} is empty")


def removed(folder):
    try:
        os.rmdir(folder)
    except OSError:
        return not os.path.exists(folder)
    return True


class Osbd:
    """The channel to a hostile osbd; connects again when it is another."""

    def __init__(self, service):
        self.service, self.sock = service, None
        self.ids = 0

    def connect(self):
        def connected():
            try:
                self.sock.connect(str(self.service.socket))
                return True
            except ConnectionRefusedError:  # bound, but not yet listening
                return False

        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        procs.wait_for(connected, 5, "the broker listens")

    def do(self, line):
        """The answer to a command; "gone" when osbd isn't any more."""
        if not self.sock:
            self.connect()
        try:
            self.sock.sendall(line.encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                part = self.sock.recv(4096)
                if not part:
                    raise ConnectionError
                answer += part
        except ConnectionError:
            self.sock.close()
            self.sock = None
            return "gone"
        return answer.decode(errors="replace").rstrip("\n")

    def close(self):
        if self.sock:
            self.sock.close()
            self.sock = None

    def ask(self, kind, **changes):
        return Answer(self.do("ask " + request(kind, **changes)))

    def send(self, kind, **changes):
        return self.do("send " + request(kind, **changes))

    def hello(self):
        return self.ask("hello")

    def new_id(self):
        self.ids += 1
        return b"%032x" % (0xABC0000000 + self.ids)

    def works(self):
        """A correct create and destroy are served, in time."""
        made = self.new_id()
        for kind in ("create", "destroy"):
            answer = self.ask(kind, id=made)
            assert answer.good, f"{kind}: {answer}\n{self.service.log()}"
            assert answer.ms < WITHIN_MS, answer


def request(kind, **changes):
    """The words of one; bytes become hex, v0_source is v0.source."""
    words = [kind]
    for name, value in changes.items():
        if isinstance(value, bytes):
            value = value.hex()
        name = re.sub("^v([0-9])_", r"v\1.", name)
        words.append(f"{name}={value}")
    return " ".join(words)


class Answer:
    def __init__(self, line):
        self.line, self.ms, self.kind, self.text = line, 0, None, ""
        match = re.match(r"answer (\d+) (-?\d+) (\d+) ?(.*)", line)
        if match:
            self.kind, self.sys, self.ms = map(int, match.groups()[:3])
            self.text = match.group(4)

    @property
    def good(self):
        return self.kind == 0

    @property
    def refused(self):
        """By a word; in time."""
        return bool(self.kind) and self.ms < WITHIN_MS

    def __repr__(self):
        return self.line



def cpu_seconds(pid):
    """Of a process so far, in user and kernel mode."""
    fields = procs.read(pid, "stat").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def unharmed(service):
    """The broker is after it as before: alive, as small, and silent."""
    pid, fds = service.pid, service.fds()
    size = procs.memory_kib(pid, "VmRSS")
    lines = len(service.log().splitlines())
    yield
    assert service.is_alive() and service.pid == pid, service.log()
    procs.wait_for(lambda: service.fds() <= fds, 2, "descriptors are closed")
    assert procs.memory_kib(pid, "VmRSS") < size + 1024
    said = service.log().splitlines()[lines:]
    assert len(said) <= 1, said
