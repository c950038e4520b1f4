# SPDX-License-Identifier: Apache-2.0
"""What /proc says about processes; every answer may be stale at once."""

import os
import pathlib
import time

PROC = pathlib.Path("/proc")
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


def all_pids():
    return [int(p.name) for p in PROC.iterdir() if p.name.isdigit()]


def read(pid, name, default=""):
    try:
        return (PROC / str(pid) / name).read_bytes().decode(errors="replace")
    except OSError:
        return default


def comm(pid):
    return read(pid, "comm").rstrip("\n")


def cmdline(pid):
    return read(pid, "cmdline").rstrip("\0").split("\0")


def status(pid):
    """/proc/PID/status as a dictionary of stripped strings."""
    lines = (line.split(":", 1) for line in read(pid, "status").splitlines())
    return {key: value.strip() for key, value in lines}


def state(pid):
    return status(pid).get("State", "")[:1]


def is_alive(pid):
    return state(pid) not in ("", "Z", "X")


def has_ended(pid):
    """Dead, and none of its threads holds its descriptors any more."""
    try:
        threads = len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return True
    return not is_alive(pid) and threads <= 1


def parent(pid):
    return int(status(pid).get("PPid", "0"))


def children(pid):
    found = []
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        found += read(pid, f"task/{thread.name}/children").split()
    return [int(one) for one in found]


def descendants(pid):
    """All children, grandchildren ... of a process."""
    children = {}
    for one in all_pids():
        children.setdefault(parent(one), []).append(one)
    found, todo = [], [pid]
    while todo:
        for child in children.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found


def links(pid, folder):
    """{name: target} of /proc/PID/fd or /proc/PID/ns."""
    found = {}
    try:
        names = os.listdir(f"/proc/{pid}/{folder}")
    except OSError:
        return found
    for name in names:
        try:
            found[name] = os.readlink(f"/proc/{pid}/{folder}/{name}")
        except OSError:
            pass
    return found


def with_argument(text):
    """Pids of live processes that have exactly this argument."""
    return [p for p in all_pids() if text in cmdline(p) and is_alive(p)]


def wait_for(condition, seconds, what="the condition"):
    """Poll until condition() is true; its value is returned."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.02)


def memory_kib(pid, field):
    """VmRSS or VmHWM of a process; 0 when it is gone."""
    return int(status(pid).get(field, "0 kB").split()[0])
