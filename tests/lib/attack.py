# SPDX-License-Identifier: Apache-2.0
"""Attacks: the same small Python program inside a sandbox and outside.

An attack ends with worked() or refused(why); anything else is a broken
attack and fails the test either way. Outside it runs as root in namespaces
of its own, so that it can't hurt the host.
"""

import subprocess

import osb
import procs

REFUSED = 10

PRELUDE = r"""
import ctypes, errno, os, socket, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)

def worked(what="done"):
    print(what)
    sys.stdout.flush()
    os._exit(0)

def refused(why):
    print(why)
    sys.stdout.flush()
    os._exit(10)

def check(result, what):
    "The result of a libc call; a failure is a refusal."
    if result < 0:
        number = ctypes.get_errno()
        refused("%s: %s" % (what, errno.errorcode.get(number, number)))
    return result

def syscall(number, *args):
    "A system call that libc has no name for."
    return libc.syscall(
        ctypes.c_long(number),
        *[a if isinstance(a, (bytes, ctypes.Array, type(None))) or
          hasattr(a, "_obj") else ctypes.c_long(a) for a in args])

def attempt(function, *args, **kwargs):
    "Call; an OSError is a refusal."
    try:
        return function(*args, **kwargs)
    except OSError as error:
        refused("%s: %s" % (getattr(function, "__name__", "call"), error))
"""


class Outcome:
    def __init__(self, code, text):
        self.code, self.text = code, text
        assert code in (0, REFUSED), f"broken attack, exit {code}: {text}"

    @property
    def worked(self):
        return self.code == 0

    @property
    def refused(self):
        return self.code == REFUSED

    def __repr__(self):
        return ("worked: " if self.worked else "refused: ") + self.text


def inside(daemon, source, args=(), user="root", options=()):
    """Run an attack in a sandbox of its own."""
    done = daemon.python(
        PRELUDE + source, "--user", user, "--timeout", "20s", *options,
        args=args,
    )  # fmt: skip
    return Outcome(done.code, done.out + done.err)


def outside(source, args=(), unshare=()):
    """Run an attack on the host, in new namespaces: ["--mount", "--net"]."""
    argv = [osb.PYTHON, "-c", PRELUDE + source, *map(str, args)]
    if unshare:
        argv = ["unshare", "--kill-child", "--fork", *unshare, "--", *argv]
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=20
    )
    text = (done.stdout + done.stderr).decode(errors="replace")
    return Outcome(done.returncode, text)


def host_pid_of(marker):
    """The host's pid of the one process with this argument."""
    found = procs.wait_for(
        lambda: [p for p in procs.with_argument(marker)
                 if procs.comm(p) == "sleep"],
        5,
        f"a sleep {marker}",
    )  # fmt: skip
    assert len(found) == 1, found
    return found[0]
