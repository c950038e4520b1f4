# SPDX-License-Identifier: Apache-2.0
"""A private broker and osbd, and the command line against it.

    with osb.Service("--private") as daemon:
        daemon.run("--timeout", "5s", "--", "echo", "hello").stdout
"""

import contextlib
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import api as http_api
import procs

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("OSB_BUILD", ROOT / "build")).resolve()
BINARIES = (
    "osb", "osbd", "osb-broker", "osb-init", "osb-files", "osb-disk"
)  # fmt: skip
PYTHON = "/usr/bin/python3"
SANITIZED = os.environ.get("OSB_SANITIZED") == "1"


class Result:
    """How a command ended."""

    def __init__(self, args, code, stdout, stderr, seconds):
        self.args, self.code, self.seconds = args, code, seconds
        self.stdout, self.stderr = stdout, stderr

    @property
    def out(self):
        return self.stdout.decode(errors="replace")

    @property
    def err(self):
        return self.stderr.decode(errors="replace")

    def json(self):
        return json.loads(self.stdout)

    def __repr__(self):
        return (
            f"{' '.join(map(str, self.args))}\n  exit {self.code} after "
            f"{self.seconds:.2f} s\n  stdout {self.stdout[:2000]!r}\n"
            f"  stderr {self.stderr[:2000]!r}"
        )


def clean_env(**extra):
    """The caller's environment without what would lead osb elsewhere."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("OSB_")}
    env.update(extra)
    return env


def command(*args, input=b"", timeout=60, env=None, **kwargs):
    """Run the osb command line; input=None gives it no stdin pipe."""
    argv = [str(BUILD / "osb"), *map(str, args)]
    start = time.monotonic()
    if input is None:
        kwargs.setdefault("stdin", subprocess.DEVNULL)
    else:
        kwargs["input"] = input
    done = subprocess.run(
        argv, capture_output=True, timeout=timeout, env=env, **kwargs
    )
    took = time.monotonic() - start
    return Result(argv, done.returncode, done.stdout, done.stderr, took)


def brokers(socket):
    """Brokers that listen at a path, whoever started them."""
    found = [
        pid
        for pid in procs.all_pids()
        if procs.comm(pid) == "osb-broker" and str(socket) in procs.cmdline(pid)
    ]
    # A child that is about to execute something else looks like its parent;
    # one that has ended meanwhile has none.
    return [pid for pid in found if procs.parent(pid) not in [0, *found]]


# Apart from sandboxes that somebody uses on this host meanwhile.
CGROUP_PARENT = f"osb-test-{os.urandom(4).hex()}"


@contextlib.contextmanager
def making(kind):
    """A function that starts daemons of some kind, ended with the block."""
    with contextlib.ExitStack() as made:  # all end, whatever one raises

        def make(*args, **kwargs):
            new = kind(*args, **kwargs)
            made.callback(new.stop)
            return new.start()

        yield make


# All that a domain has: a sandbox may hold one while the next is made.
SLOTS = 255


class Service:
    """osb-broker in a temporary run directory, and all that it starts."""

    def __init__(
        self,
        *args,
        keys=None,
        config="",
        osbd_config="",
        idle_exit="10m",
        wrapper=(),
        listen=None,
    ):
        self.args = list(args)
        self.wrapper = list(wrapper)  # a program that becomes the broker
        self.keys, self.config, self.idle_exit = keys, config, idle_exit
        self.osbd_config = osbd_config  # None: the host's, if any
        self.listen = listen  # addresses for `osb serve`; None: a broker
        self.addresses = []  # (host, port) of those that are TCP
        self.home = None
        self.process = None

    # --- life -----------------------------------------------------------

    def start(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="osb-test-"))
        self.home.chmod(0o755)  # osbd runs as somebody else
        self.run_dir = self.home / "run"
        self.tmp_dir = self.home / "tmp"
        self.run_dir.mkdir(mode=0o755)
        self.tmp_dir.mkdir(mode=0o1777)
        self.tmp_dir.chmod(0o1777)
        self.socket = self.run_dir / "osbd.sock"
        self._spawn()
        return self

    def _spawn(self):
        if self.listen is not None:
            self._serve()
            return
        argv = self.wrapper + [
            str(BUILD / "osb-broker"),
            "--run-dir", str(self.run_dir),
            "--socket", str(self.socket),
            "--idle-exit", self.idle_exit,
            *self.args,
            *self._files(),
        ]  # fmt: skip
        ready, write_end = os.pipe()
        argv += ["--ready-fd", str(write_end)]
        self._popen(argv, (write_end,))
        os.close(write_end)
        with os.fdopen(ready, "rb") as pipe:
            answer = pipe.read()  # to its end: the broker closes it
        if answer != b"ready\n":
            log = self.log()
            self._remove()
            raise RuntimeError(f"no broker: {answer!r}\n{log}")

    def _files(self):
        """Write the files; the options that name them."""
        path = self.home / "broker.conf"
        path.write_text(
            f"[broker]\ncgroup_parent = {CGROUP_PARENT}\n{self.config}"
        )
        options = ["--config", str(path)]
        if self.osbd_config is not None:
            self.write_osbd_config(self.osbd_config)
            options += ["--osbd-config", str(self.home / "osbd.conf")]
        if self.keys is not None:
            self.write_keys(self.keys)
            options += ["--api-key-file", str(self.home / "keys")]
        return options

    def write_osbd_config(self, text):
        path = self.home / "osbd.conf"
        # What a test leaves open at its end isn't waited for.
        if "drain_timeout" not in text and (not text or text[-1] == "\n"):
            text += "drain_timeout = 100ms\n"
        path.write_text(f"[osbd]\n{text}")
        path.chmod(0o600)  # osbd itself can't open it

    def write_keys(self, keys):
        path = self.home / "keys"
        path.write_text("".join(f"{n}:{key}\n" for n, key in keys.items()))
        path.chmod(0o600)

    def _popen(self, argv, pass_fds=()):
        with open(self.home / "log", "ab") as log:
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=pass_fds,
                env=clean_env(TMPDIR=str(self.tmp_dir)),
                start_new_session=True,
            )

    def _serve(self):
        """osb serve; it says where once it is ready."""
        argv = [str(BUILD / "osb"), "serve", "--run-dir", str(self.run_dir)]
        for address in self.listen:
            argv += ["--listen", address]
        self._popen(argv + [*self.args, *self._files()])
        start = time.monotonic()
        while not (found := re.findall("^osb: serving on (.*)$", self.log(), re.M)):
            if self.process.poll() is not None or time.monotonic() - start > 20:
                log = self.log()
                self.stop()
                raise RuntimeError(f"no service:\n{log}")
            time.sleep(0.01)
        self.addresses = [
            (host.strip("[]"), int(port))
            for host, port in re.findall(r"http://(\S+):(\d+)", found[-1])
        ]

    def stop(self, sig=signal.SIGTERM):
        """End it as a service manager would: within 5 seconds."""
        self._end(sig)
        if self.has_left():
            self.args = [arg for arg in self.args if arg != "--keep"]
            self._spawn()
            self._end(signal.SIGTERM)
        self._remove()

    def _end(self, sig):
        if not self.process or self.process.poll() is not None:
            return
        self.process.send_signal(sig)
        try:
            self.process.wait(timeout=6)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("osb-broker ignored SIGTERM for 6 s")

    def has_left(self):
        """Has it ended in a way that leaves sandboxes to the next one?"""
        return bool(
            self.process
            and self.process.poll() is not None
            and glob.glob(f"{self.run_dir}/s/*.sock")
        )

    def _remove(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.home:
            log = self.log()
            shutil.rmtree(self.home, ignore_errors=True)
            assert "Sanitizer" not in log and "runtime error" not in log, log

    def restart(self):
        """Start the broker again in the same place, after it has died."""
        self.process.wait(timeout=6)
        self._spawn()

    def kill(self, *names):
        """SIGKILL to the "osbd", the "broker" or both, which are waited for."""
        names = names or ("broker",)
        osbd = self.osbd() if "osbd" in names else 0
        if "broker" in names:
            os.kill(self.pid, signal.SIGKILL)
        if osbd:
            os.kill(osbd, signal.SIGKILL)
            procs.wait_for(lambda: procs.has_ended(osbd), 5, "osbd is dead")
        if "broker" in names:
            self.process.wait(timeout=6)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def log(self):
        path = self.home / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    # --- its processes --------------------------------------------------

    @property
    def pid(self):
        return self.process.pid

    def is_alive(self):
        return self.process.poll() is None

    def children(self, name):
        return [p for p in procs.descendants(self.pid) if procs.comm(p) == name]

    def osbd(self):
        """The pid of the running osbd."""
        found = procs.wait_for(lambda: self.children("osbd"), 5, "osbd runs")
        return found[0]

    def launchers(self):
        """osb-init processes that aren't anybody's pid 1."""
        return [
            p
            for p in self.children("osb-init")
            if len(procs.status(p).get("NSpid", "").split()) == 1
        ]

    def pids(self):
        """Broker, osbd and launchers: what stays between requests."""
        return [self.pid, *self.children("osbd"), *self.launchers()]

    # --- using it -------------------------------------------------------

    def env(self, **extra):
        return clean_env(OSB_SOCKET=str(self.socket), **extra)

    def osb(self, *args, env=None, **kwargs):
        return command(*args, env=self.env(**(env or {})), **kwargs)

    def run(self, *args, **kwargs):
        return self.osb("run", *args, **kwargs)

    def sh(self, script, *options, **kwargs):
        """osb run OPTIONS -- sh -c SCRIPT"""
        return self.run(*options, "--", "sh", "-c", script, **kwargs)

    def python(self, source, *options, args=(), **kwargs):
        """osb run OPTIONS -- python3 -c SOURCE ARGS"""
        return self.run(
            *options, "--", PYTHON, "-c", source, *map(str, args), **kwargs
        )

    def popen(self, *args, **kwargs):
        """The osb command line in the background."""
        argv = [str(BUILD / "osb"), *map(str, args)]
        return subprocess.Popen(argv, env=self.env(), **kwargs)

    def api(self, key=None):
        return http_api.Api(self.socket, key=key)

    def tcp(self, key=None, number=0):
        """The same by TCP, of a service."""
        return http_api.Api(None, key=key, address=self.addresses[number])

    def reload(self):
        """SIGHUP; what the log says about it."""
        before = len(self.log())
        os.kill(self.pid, signal.SIGHUP)
        return procs.wait_for(
            lambda: [x for x in self.log()[before:].splitlines() if "reload" in x
                     or "osb-broker:" in x],
            5, "a word about the reload",
        )[0]  # fmt: skip

    def warm_up(self):
        """Fill what is made on first use: launcher, pools, and the mounts
        that the broker keeps per slot, for as many as a test has at once."""
        api = self.api()
        for box in [api.create() for _ in range(SLOTS)]:
            box.delete()
        done = self.run("--", "true")
        if done.code != 0:
            raise RuntimeError(f"first run failed: {done!r}\n{self.log()}")
