# SPDX-License-Identifier: Apache-2.0
"""What ten sandboxes notice of an eleventh that does its worst."""

import contextlib
import statistics
import threading
import time

import bench

NEIGHBOURS = 10
ATTACKS = {
    "spins": "while :; do :; done",
    "forks": "exec /usr/bin/python3 -c '\n"
             "import os\n"
             "while True:\n"
             "  try: os.fork()\n"
             "  except OSError: pass'",
    "is out of memory": "while :; do /usr/bin/python3 -c "
                        "\"x = [bytes(1 << 20) for _ in range(4096)]\"; done",
    "prints": "exec yes",
    "fills its disk": "while :; do dd if=/dev/zero of=/workspace/x bs=1M; "
                      "rm -f /workspace/x; done 2>/dev/null",
}  # fmt: skip


def p99(times):
    return sorted(times)[int(len(times) * 0.99)]


def load(boxes, rounds):
    """Each of them runs `true` again and again: p99 of all, in ms."""
    times = []

    def one(box):
        mine = []
        for _ in range(rounds):
            start = time.monotonic()
            ended = box.run("true")
            mine.append((time.monotonic() - start) * 1000)
            assert ended.verdict["exit_code"] == 0, ended.verdict
        times.extend(mine)

    threads = [threading.Thread(target=one, args=(box,)) for box in boxes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(times) == rounds * len(boxes)
    return p99(times)


@contextlib.contextmanager
def attack(api, script):
    box = api.create(resourceLimits={"cpu": "1", "memory": "128Mi"})
    box.start(script)
    time.sleep(0.5)  # until it is at its worst
    try:
        yield
    finally:
        box.delete()


def compare(api, boxes, script, rounds, turns):
    alone, beside = [], []
    for _ in range(turns):
        alone.append(load(boxes, rounds))
        with attack(api, script):
            beside.append(load(boxes, rounds))
    return statistics.median(alone), statistics.median(beside)


def main(rounds=100, turns=3):
    ratios = []
    with bench.service() as daemon:
        api = daemon.tcp(key=bench.KEY)
        boxes = [api.create(resourceLimits={"memory": "64Mi"})
                 for _ in range(NEIGHBOURS)]  # fmt: skip
        load(boxes, 5)
        for name, script in ATTACKS.items():
            alone, beside = compare(api, boxes, script, rounds, turns)
            ratios.append(bench.say({
                "bench": f"true in {NEIGHBOURS} sandboxes beside one that "
                         f"{name}",
                "p99_ms": round(beside, 2), "p99_alone_ms": round(alone, 2),
                "ratio": round(beside / alone, 3)}))
        for box in boxes:
            box.delete()
    return ratios


if __name__ == "__main__":
    main()
