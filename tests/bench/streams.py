# SPDX-License-Identifier: Apache-2.0
"""Quiet streams of events: what they cost osbd, and what comes late."""

import json

import bench

# A line about once a second: what bench_streams looks for.
PROGRAM = """exec python3 -uc '
import time
n = 0
while True:
    print(n, "%.6f" % time.time())
    n += 1
    time.sleep(1)
'"""


def start_command(daemon, sandbox):
    """The path of its events."""
    api = daemon.tcp(bench.KEY)
    base = f"/sandboxes/{sandbox}/proxy/44772"
    stream = api.stream("POST", f"{base}/command",
                        {"command": PROGRAM, "background": True})
    assert stream.status == 200, stream.raw()
    event = json.loads(stream.raw().split(b"\n")[0])
    return f"/v1{base}/command/{event['text']}/events"


def measure(daemon, sandboxes, followers, seconds):
    ids, _ = bench.create(bench.address(daemon), "fill", sandboxes, 4,
                          f"{daemon.home}/made")
    paths = [start_command(daemon, one) for one in ids]
    line = bench.run(
        "bench_streams", f"{sandboxes} commands, {followers} followers each",
        bench.address(daemon), followers, seconds, daemon.osbd(),
        input="".join(f"{path}\n" for path in paths))[0]
    bench.delete(daemon, ids)
    return bench.say(line)


def main(sandboxes=100, followers=50, seconds=60):
    with bench.service() as daemon:
        return measure(daemon, sandboxes, followers, seconds)


if __name__ == "__main__":
    main()
