# SPDX-License-Identifier: Apache-2.0
"""What one caller notices of another one that keeps running into its 429."""

import contextlib
import json
import statistics
import subprocess

import bench

KEYS = {"calm": bench.KEY, "greedy": "bench-" + "1" * 32}
# A burst that the calm one doesn't use up.
BURST = 500
OSBD_CONF = f"max_sandboxes = 255\ncreate_rate = 1\ncreate_burst = {BURST}\n"


def use_up(daemon):
    """The greedy one's burst, with creates that the broker refuses."""
    missing = {"name": "x", "mountPath": "/x", "host": {"path": "/missing"}}
    impossible = {**bench.BODY, "volumes": [missing]}
    where = bench.address(daemon)
    bench.load(where, "use up", 1, BURST, "POST", "/v1/sandboxes", impossible,
               key=KEYS["greedy"])
    # What came back meanwhile goes, too.
    line = bench.load(where, "use up", 1, 60, "POST", "/v1/sandboxes",
                      bench.BODY, key=KEYS["greedy"])
    assert line["status"] == 429 or line["other"] > 0, line


@contextlib.contextmanager
def attack(daemon, pause_us):
    """Creates of the greedy one, again and again."""
    process = subprocess.Popen(
        [f"{bench.osb.BUILD}/tests/bench/bench_load", "greedy",
         bench.address(daemon), "8", "600s", "POST", "/v1/sandboxes",
         json.dumps(bench.BODY)],
        env=bench.environment(KEYS["greedy"], pause_us),
        stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def calm(daemon, path, rounds):
    """Medians of the calm one: of a GET, of a create."""
    where = bench.address(daemon)
    get = bench.load(where, "get", 1, rounds, "GET", path, pause_us=1000)
    made = bench.run("bench_create", "create", where, bench.UNIT, rounds // 10,
                     json.dumps(bench.BODY))[0]
    assert get["status"] == 200 and get["other"] == 0, get
    return get["median_us"], made["median_us"]


def compare(daemon, path, pause_us, rounds, turns):
    """Ratios of medians, with the attack to without, in turns."""
    alone, beside = [], []
    for _ in range(turns):
        alone.append(calm(daemon, path, rounds))
        with attack(daemon, pause_us):
            beside.append(calm(daemon, path, rounds))
    return [
        round(statistics.median(x[i] for x in beside)
              / statistics.median(x[i] for x in alone), 3)
        for i in range(2)
    ]


def main(pauses=(1000, 0), rounds=200, turns=5):
    ratios = []
    with bench.service(KEYS, OSBD_CONF) as daemon:
        ids, _ = bench.create(bench.address(daemon), "one", 1, 1,
                              f"{daemon.home}/made")
        use_up(daemon)
        for pause_us in pauses:
            get, create = compare(daemon, f"/v1/sandboxes/{ids[0]}", pause_us,
                                  rounds, turns)
            how = f"a pause of {pause_us} us" if pause_us else "no pause"
            ratios.append(bench.say({
                "bench": f"beside a caller at its 429, {how}",
                "get_ratio": get, "create_ratio": create}))
    return ratios


if __name__ == "__main__":
    main()
