# SPDX-License-Identifier: Apache-2.0
"""Renewals in the last moment, then a SIGKILL to osbd and broker.

A program in each sandbox tells when that ended: its pidfd, whoever is alive to
hear of it.
"""

import concurrent.futures
import datetime
import fcntl
import os
import random
import select
import threading
import time

import procs

BROKER_CONF = f"id_base = {64 << 24}\nid_blocks = 64\n"
OSBD_CONF = "max_sandboxes = 2048\ncreate_rate = 0\n"
LIMITS = {"guarantee": "1Mi", "memory": "32Mi"}
WORKERS = 4
FIRST_FD = 2000
LAST_MS = 2.0  # before the expiry, at most
LATE_S = 1.0
EARLY_S = 0.01  # what two readings of a clock may differ by


def moment(seconds):
    then = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return then.isoformat()


class Watched:
    """A sandbox, and what its client knows of its end."""

    def __init__(self, box, number):
        self.box, self.marker = box, f"3000.{number:06d}"
        self.expires = None  # acknowledged
        self.ended = None  # seen
        self.renewed = False

    def renew(self, expires):
        reply = self.box.api.request(
            "POST", self.box.path("/renew-expiration"),
            {"expiresAt": moment(expires)},
        )  # fmt: skip
        if reply.status == 200:
            self.expires = expires
        else:  # it has expired, and was told so
            assert reply.status == 404, reply
        return reply.status == 200


def create(api, number):
    watched = Watched(None, number)
    watched.box = api.create(
        timeout=3600,
        resourceLimits=LIMITS,
        entrypoint=["sh", "-c", f"exec sleep {watched.marker}"],
    )
    return watched


def open_high(pid):
    """A pidfd that leaves low numbers to others, such as --ready-fd."""
    low = os.pidfd_open(pid)
    high = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, FIRST_FD)
    os.close(low)
    return high


def pidfds(all_watched):
    """{pidfd: watched}, once all their programs run."""
    by_marker = {watched.marker: watched for watched in all_watched}

    def find():
        found = {}
        for pid in procs.all_pids():
            args = procs.cmdline(pid)
            if args[0] == "sleep" and args[-1] in by_marker:
                found[pid] = by_marker[args[-1]]
        return found if len(found) == len(by_marker) else None

    found = procs.wait_for(find, 30, "all programs run")
    return {open_high(pid): watched for pid, watched in found.items()}


class Deaths(threading.Thread):
    """Notes when each of them ends."""

    def __init__(self, fds):
        super().__init__(daemon=True)
        self.fds, self.stopping = fds, threading.Event()
        self.poll = select.epoll()
        for fd in fds:
            self.poll.register(fd, select.EPOLLIN)

    def run(self):
        while not self.stopping.is_set():
            for fd, _ in self.poll.poll(0.05):
                self.fds[fd].ended = time.time()
                self.poll.unregister(fd)

    def close(self):
        self.stopping.set()
        self.join()
        self.poll.close()
        for fd in self.fds:
            os.close(fd)


def renew_in_the_last_moment(all_watched, until, order):
    """Each a moment before it would expire; how many were in time."""
    lives = [until + order.uniform(0, 5) for _ in all_watched]
    leads = [order.uniform(0, LAST_MS / 1000) for _ in all_watched]

    def work(part):
        for i in range(part, len(all_watched), WORKERS):
            watched = all_watched[i]
            left = watched.expires - leads[i] - time.time()
            if left > 0:
                time.sleep(left)
            watched.renewed = watched.renew(lives[i])

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, range(WORKERS)))
    return sum(watched.renewed for watched in all_watched)


def check(all_watched):
    wrong = []
    for watched in all_watched:
        what = f"{watched.box.id}, renewed: {watched.renewed}"
        if watched.ended is None:
            wrong.append(f"{what}: has not ended")
            continue
        late = watched.ended - watched.expires
        if late > LATE_S or late < -EARLY_S:
            wrong.append(f"{what}: ended {late:+.3f} s from its expiry")
    assert not wrong, "\n".join(wrong[:20] + [f"{len(wrong)} in all"])


def storm(daemon, num, seed=1, spacing=0.005):
    """The whole run; how many renewals were in time."""
    api, order = daemon.api(), random.Random(seed)
    all_watched = [create(api, i) for i in range(num)]
    deaths = Deaths(pidfds(all_watched))
    deaths.start()
    try:
        start = time.time() + 1 + num * 0.005
        for i, watched in enumerate(all_watched):
            assert watched.renew(start + i * spacing)
        assert time.time() < start, "this host is too slow for the run"
        # Some are to end while nobody is there, most after that.
        in_time = renew_in_the_last_moment(
            all_watched, start + num * spacing + 0.2, order
        )
        daemon.kill("osbd", "broker")
        daemon.restart()
        last = max(watched.expires for watched in all_watched)
        time.sleep(max(0, last + LATE_S + 0.2 - time.time()))
        check(all_watched)
        assert api.get("/v1/sandboxes").json()["items"] == []
    finally:
        deaths.close()
    return in_time
