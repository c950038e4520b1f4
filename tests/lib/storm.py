# SPDX-License-Identifier: Apache-2.0
"""A kill storm: clients at work, one SIGKILL, and a look at what is left.

What was acknowledged to a client is kept in a model, and must be there after
each round. What was asked for without an answer may be there or not, but never
half of it.
"""

import http.client
import os
import random
import subprocess
import threading
import time

import procs

VICTIMS = (("osbd",), ("broker",), ("osbd", "broker"), ("client",))
BOXES_MAX = 8
COMMANDS_MAX = 60  # of a sandbox: fewer than are remembered
WORKERS = 4
LIVES_MS = 1100  # else a broker holds its osbd for one that can't start


class Box:
    """What was acknowledged of a sandbox."""

    def __init__(self, sandbox, record):
        self.sandbox, self.record = sandbox, record
        self.files, self.commands = {}, {}


class Storm:
    def __init__(self, service, seed, kinds):
        self.service, self.api, self.kinds = service, service.api(), kinds
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.boxes, self.deleted, self.maybe = {}, set(), set()
        self.wrong, self.number = [], 0
        self.osbd_since = time.monotonic()

    # --- load -----------------------------------------------------------

    def _next(self):
        with self.lock:
            self.number += 1
            return self.number

    def _any_box(self):
        with self.lock:
            return self.random.choice(list(self.boxes.values()) or [None])

    def _create(self):
        number = self._next()
        made = self.api.create(timeout=3600, metadata={"n": str(number)})
        reply = made.get()
        if reply.status == 200:
            with self.lock:
                self.boxes[made.id] = Box(made, reply.json())

    def _start(self, box):
        number = self._next()
        pause = self.random.random()
        command = box.sandbox.start(
            f"echo {number}; sleep {pause:.2f}; echo end; exit {number % 100}"
        )
        box.commands[command] = number

    def _upload(self, box):
        number = self._next()
        path = f"/workspace/{number}"
        content = f"{number}\n".encode() * self.random.randrange(1, 20000)
        reply = box.sandbox.upload(({"path": path}, content))
        assert reply.status == 200, reply
        box.files[path] = content

    def _run(self, box):
        number = self._next()
        events = box.sandbox.command(f"echo {number}; exit 3")
        assert events[2]["text"] == str(number), events
        assert events[-1]["error"]["evalue"] == "3", events

    def _delete(self, box):
        one = box.sandbox.id
        with self.lock:
            if self.boxes.pop(one, None) is None:
                return
            self.maybe.add(one)
        assert box.sandbox.delete().status == 204
        with self.lock:
            self.maybe.discard(one)
            self.deleted.add(one)

    def _act(self, box):
        roll = self.random.random()
        if not box or (roll < 0.2 and len(self.boxes) < BOXES_MAX):
            self._create()
        elif roll < 0.25 or len(box.commands) > COMMANDS_MAX:
            self._delete(box)
        elif roll < 0.5:
            self._start(box)
        elif roll < 0.75:
            self._upload(box)
        else:
            self._run(box)

    def _work(self, stop, struck):
        while not stop.is_set():
            box = self._any_box()
            try:
                self._act(box)
            except (OSError, http.client.HTTPException, AssertionError,
                    IndexError, ValueError, KeyError) as error:  # fmt: skip
                if struck.is_set():
                    return
                # Another worker may have deleted it meanwhile.
                if not box or box.sandbox.id in self.boxes:
                    self.wrong.append(f"before anything died: {error!r}")
                    return

    # --- a round --------------------------------------------------------

    def _strike(self, victims, struck):
        if "client" in victims:
            marker = f"300.{9000 + self._next()}"
            client = self.service.popen(
                "run", "--", "sleep", marker,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            time.sleep(self.random.random() * 0.1)
            client.kill()
            client.wait()
            procs.wait_for(
                lambda: not procs.with_argument(marker), 5, "its program ends"
            )
            return
        lived = time.monotonic() - self.osbd_since
        time.sleep(max(0, LIVES_MS / 1000 - lived))
        struck.set()
        self.service.kill(*victims)
        if "broker" in victims:
            self.service.restart()
        assert self.api.get("/health").status == 200
        self.osbd_since = time.monotonic()

    def round(self):
        stop, struck = threading.Event(), threading.Event()
        workers = [
            threading.Thread(target=self._work, args=(stop, struck))
            for _ in range(WORKERS)
        ]
        for worker in workers:
            worker.start()
        time.sleep(self.random.random() * 0.3)
        victims = self.random.choice(self.kinds)
        try:
            self._strike(victims, struck)
        finally:
            stop.set()
            for worker in workers:
                worker.join()
        assert self.wrong == [], self.wrong
        self.check()

    # --- what is left ---------------------------------------------------

    def _listed(self):
        items = self.api.get("/v1/sandboxes?pageSize=200").json()["items"]
        return {item["id"]: item for item in items}

    def _check_box(self, box, listed):
        one = box.sandbox.id
        assert listed.get(one) == box.record, (box.record, listed.get(one))
        for path, content in box.files.items():
            got = box.sandbox.download(path)
            assert got.body == content, (path, got.status, len(got.body))
        for command, number in box.commands.items():
            whole = f"{number}\nend\n".encode()
            status = box.sandbox.status(command)
            log = box.sandbox.log(command)
            assert whole.startswith(log), (log, whole)
            if not status["running"]:
                assert status["exit_code"] == number % 100, status
                assert log == whole, (log, status)

    def check(self):
        listed = self._listed()
        assert not self.deleted & set(listed), "deleted is deleted"
        for box in self.boxes.values():
            self._check_box(box, listed)
        # Nobody was told of these.
        for one in set(listed) - set(self.boxes):
            state = listed[one]["status"]["state"]
            assert state in ("Running", "Failed"), listed[one]
            reply = self.api.request("DELETE", f"/v1/sandboxes/{one}")
            assert reply.status in (204, 404), reply
        self.maybe.clear()

    def end(self):
        """All commands to their end, all sandboxes deleted."""
        for box in self.boxes.values():
            for command in box.commands:
                box.sandbox.wait_ended(command, 30)
        self.check()
        for box in self.boxes.values():
            assert box.sandbox.delete().status == 204
        self.boxes.clear()
        assert self.api.ids() == []
        for folder in ("s", "state/osbd/logs"):
            assert os.listdir(self.service.run_dir / folder) == []


def run(service, rounds, seed, kinds=VICTIMS):
    storm = Storm(service, seed, kinds)
    for _ in range(rounds):
        storm.round()
    storm.end()
