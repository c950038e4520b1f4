# SPDX-License-Identifier: Apache-2.0
"""The same again and again, and whether the machine holds more for it."""

import time

import leaks
import procs

WARM_UP = 300  # until caches, pools and heaps are what they will be
RSS_KIB = 2048  # as much as a heap may breathe


def dying_cgroups():
    """Those that are removed and not yet gone, with those that are there."""
    lines = open("/proc/cgroups").read().splitlines()[1:]
    return {line.split()[0]: int(line.split()[2]) for line in lines}


def counts(service):
    """What must not grow with the number of rounds, by name."""
    found = {
        "cgroups": len(leaks.cgroups()),
        "mounts of the broker": len(leaks.mounts(service.pid)),
        "mounts": len(leaks.mounts()),
        "files": len(leaks.files(service)),
    }
    for pid in service.pids() + leaks.inits():
        name = f"{procs.comm(pid)} {pid}"
        found[f"fds of {name}"] = len(procs.links(pid, "fd"))
        found[f"threads of {name}"] = int(procs.status(pid).get("Threads", 0))
    return found


def rss(service):
    return {
        f"{procs.comm(pid)} {pid}": procs.memory_kib(pid, "VmRSS")
        for pid in service.pids() + leaks.inits()
    }


def check_flat(service, step, rounds):
    """Call step(i) that often; nothing may have grown since the warm-up."""
    for i in range(WARM_UP):
        step(i)
    time.sleep(0.5)
    before, rss_before, dying = counts(service), rss(service), dying_cgroups()
    for i in range(WARM_UP, WARM_UP + rounds):
        step(i)
    end = time.monotonic() + 5
    while (after := counts(service)) != before and time.monotonic() < end:
        time.sleep(0.1)
    grown = {
        name: (before.get(name, 0), after[name])
        for name in after
        if after[name] > before.get(name, 0)
    }
    assert not grown, f"after {rounds} rounds: {grown}"
    for name, kib in rss(service).items():
        assert kib - rss_before[name] < RSS_KIB, (name, rss_before[name], kib)
    for name, count in dying_cgroups().items():
        # Others make some, too; each round of ours makes three.
        assert count - dying[name] < max(200, rounds / 2), (name, dying, count)


def create_exec_delete(service, rounds):
    api = service.api()

    def step(i):
        box = api.create()
        events = box.command(f"echo {i} >/workspace/x; cat /workspace/x")
        assert events[2]["text"] == str(i), events
        assert box.delete().status == 204

    check_flat(service, step, rounds)


def execs_that_write(service, rounds):
    """In one sandbox, with what is left of each: a log and a record."""
    box = service.api().create()

    def step(i):
        events = box.command(f"echo {i} >/workspace/{i % 10}; echo done")
        assert events[2]["text"] == "done", events

    check_flat(service, step, rounds)
    assert box.delete().status == 204
