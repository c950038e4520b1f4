# SPDX-License-Identifier: Apache-2.0
"""Creates at the same time beside the same number one after the other."""

import bench


def measure(numbers, how, osbd_config):
    with bench.service(osbd_config=osbd_config) as daemon:
        where, file = bench.address(daemon), f"{daemon.home}/made"
        # All that is made on first use of a slot is there before.
        ids, _ = bench.create(where, "warm", max(numbers), 4, file)
        bench.delete(daemon, ids)
        for num in numbers:
            took = {}
            for connections in (1, num):
                name = f"{num} creates, {connections} at once{how}"
                ids, line = bench.create(where, name, num, connections, file)
                took[connections] = line["seconds"]
                bench.say(line)
                bench.delete(daemon, ids)
            bench.say({
                "bench": f"{num} creates at once beside one by one{how}",
                "ratio": round(took[num] / took[1], 3)})


def main(numbers=(50, 200)):
    measure(numbers, "", bench.OSBD_CONF)
    measure(numbers, ", with a pool",
            bench.OSBD_CONF + "pool_min = 50\npool_max = 200\n")


if __name__ == "__main__":
    main()
