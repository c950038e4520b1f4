# SPDX-License-Identifier: Apache-2.0
"""Processes whose parent was killed become ours, and are reaped here.

A broker that is killed leaves sandboxes behind whose first process nobody
waits for any more; in a container pid 1 may never reap. So this process is
made their reaper. It takes only the zombies that are OpenSandbox's by name and
that no Popen object waits for.
"""

import ctypes
import os
import subprocess
import weakref

import procs

PR_SET_CHILD_SUBREAPER = 36
# "osb": what `osb serve` leaves to say that it is ready.
NAMES = ("osb", "osb-broker", "osbd", "osb-init", "osb-files", "osb-disk")

_waited_for = weakref.WeakSet()


class _Popen(subprocess.Popen):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        _waited_for.add(self)


def adopt():
    """From now on orphans below this process become its children."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")
    subprocess.Popen = _Popen


def reap():
    """Reap those that are dead."""
    others = {p.pid for p in list(_waited_for) if p.returncode is None}
    for pid in procs.children(os.getpid()):
        if procs.state(pid) == "Z" and pid not in others \
                and procs.comm(pid) in NAMES:  # fmt: skip
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass  # somebody has waited for it meanwhile
