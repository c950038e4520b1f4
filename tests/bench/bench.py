# SPDX-License-Identifier: Apache-2.0
"""What the measurements over HTTP have in common."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

import leaks  # noqa: E402
import osb  # noqa: E402

UNIT = f"{osb.BUILD}/tests/bench/bench_true"
MEMORY = "/dev/shm"  # as /run is; see class Service
KEY = "bench-" + "0" * 32
BODY = {
    "image": {"uri": "host"},
    "entrypoint": ["tail", "-f", "/dev/null"],
    # Small guarantees: 2,000 of the default ones are more than most hosts have.
    "resourceLimits": {"guarantee": "1Mi"},
}
# From where 64 blocks fit below 2^31; other brokers' are above.
BROKER_CONF = "id_base = 1073741824\nid_blocks = 64\n"
OSBD_CONF = """max_sandboxes = 2048
create_rate = 0
max_connections = 16384
"""


class Service(osb.Service):
    """Its run directory in memory, as /run is, and its state on disk: ext4
    would take longer for each socket the more were removed lately."""

    def start(self):
        self.state = tempfile.mkdtemp(prefix="osb-bench-", dir="/var/tmp")
        self.args += ["--state-dir", self.state]
        tempfile.tempdir = MEMORY
        try:
            return super().start()
        finally:
            tempfile.tempdir = None

    def stop(self, *args):
        super().stop(*args)
        shutil.rmtree(self.state, ignore_errors=True)


def service(keys=None, osbd_config=OSBD_CONF):
    """A service by TCP that takes on as much as there can be."""
    return Service(
        keys=keys or {"bench": KEY}, config=BROKER_CONF,
        osbd_config=osbd_config, listen=["127.0.0.1:0"], idle_exit="0")


def address(daemon):
    return "%s:%d" % daemon.addresses[0]


def say(line):
    """One JSON line; returned as it is."""
    print(json.dumps(line), flush=True)
    return line


def environment(key, pause_us=0):
    return dict(os.environ, OSB_BENCH_KEY=key,
                OSB_BENCH_PAUSE_US=str(pause_us))


def run(program, *args, key=KEY, pause_us=0, input=""):
    """One of the C programs here; the lines that it prints."""
    done = subprocess.run(
        [f"{osb.BUILD}/tests/bench/{program}", *map(str, args)],
        env=environment(key, pause_us), input=input, text=True,
        stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def load(where, name, connections, amount, method, path, body=None, file="",
         key=KEY, pause_us=0):
    args = [name, where, connections, amount, method, path]
    if body is not None or file:
        args += [json.dumps(body) if body is not None else "", file]
    return run("bench_load", *args, key=key, pause_us=pause_us)[0]


def create(where, name, num, connections, file, key=KEY):
    """Make sandboxes; their ids, and how it went."""
    line = load(where, name, connections, num, "POST", "/v1/sandboxes", BODY,
                file, key=key)
    with open(file, encoding="utf-8") as made:
        ids = [json.loads(answer)["id"] for answer in made]
    assert line["status"] == 202 and line["other"] == 0, line
    return ids, line


def delete_all(daemon, key=KEY):
    api = daemon.tcp(key)
    while items := api.get("/v1/sandboxes?pageSize=200").json()["items"]:
        delete(daemon, [item["id"] for item in items], key)


def delete(daemon, ids, key=KEY):
    api = daemon.tcp(key)
    for one in ids:
        api.request("DELETE", f"/v1/sandboxes/{one}")


def tidy():
    """Remove the cgroups that all services were in."""
    for root in leaks.cgroup_roots():
        if (root / osb.CGROUP_PARENT).exists():
            (root / osb.CGROUP_PARENT).rmdir()
