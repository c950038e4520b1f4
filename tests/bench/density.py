# SPDX-License-Identifier: Apache-2.0
"""How much the sandboxes that are there slow down the next one, and hold."""

import json

import bench
import procs


def free_kib():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file
                    if line.startswith("MemFree"))


def held(daemon):
    """What each process of the daemon holds."""
    processes = {"osbd": daemon.osbd(), "broker": daemon.pid}
    return {
        name: {
            "fds": len(procs.links(pid, "fd")),
            "threads": int(procs.status(pid)["Threads"]),
            "rss_kib": procs.memory_kib(pid, "VmRSS"),
        }
        for name, pid in processes.items()
    }


def create_latency(daemon, idle, rounds):
    lines = bench.run("bench_create", f"{idle} idle sandboxes",
                      bench.address(daemon), bench.UNIT, rounds,
                      json.dumps(bench.BODY))
    for line in lines:
        bench.say(line)
    return lines[0]["ratio"]


def per_sandbox(before, after, num):
    return {
        name: round((after[name]["fds"] - before[name]["fds"]) / num, 2)
        for name in before
    }


def main(rounds=100, idle=(10, 1000, 2000)):
    with bench.service() as daemon:
        file, there, ratios = f"{daemon.home}/made", 0, {}
        bench.create(bench.address(daemon), "warm", 4, 1, file)
        there = 4
        for num in idle:
            before, memory = held(daemon), free_kib()
            bench.create(bench.address(daemon), "fill", num - there, 4, file)
            made, there = num - there, num
            after, taken = held(daemon), memory - free_kib()
            ratios[num] = create_latency(daemon, num, rounds)
            bench.say({
                "bench": f"{num} idle sandboxes: held", **after,
                "made": made,
                "mem_free_mib_each": round(taken / 1024 / made, 3),
                "fds_each": per_sandbox(before, after, made),
            })
        for num in idle[1:]:
            bench.say({
                "bench": f"create with {num} idle sandboxes beside "
                         f"{idle[0]} idle ones",
                "ratio": round(ratios[num] / ratios[idle[0]], 3),
            })
        bench.delete_all(daemon)  # too many for a broker that has to end
    return ratios


if __name__ == "__main__":
    main()
