# SPDX-License-Identifier: Apache-2.0
"""Requests a second, beside a bare server and the API layer of another one.

The other one is the OpenSandbox project's own server, if it can be installed.
It wants a container engine at its start and gets one that has nothing. So it
is compared by what needs none: parsing, routing, the key.
"""

import contextlib
import http.server
import json
import os
import pathlib
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time

import bench

SECONDS = "3s"
PEER_CONFIG = """[server]
host = "127.0.0.1"
port = {port}
api_key = "{key}"
[runtime]
type = "docker"
execd_image = "none"
[docker]
network_mode = "host"
"""


@contextlib.contextmanager
def echo(size):
    """The bare server; its address."""
    server = subprocess.Popen([f"{bench.osb.BUILD}/tests/bench/bench_echo",
                               str(size)], stdout=subprocess.PIPE, text=True)
    try:
        yield f"127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.kill()
        server.wait()


def peer_program(home):
    """The other server, installed if it can be; else None and why."""
    venv = pathlib.Path(home) / "venv"
    commands = [
        [sys.executable, "-m", "venv", str(venv)],
        [str(venv / "bin/pip"), "install", "--quiet", "opensandbox-server"],
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return None, (done.stderr + done.stdout).strip()[-200:]
    return venv / "bin/opensandbox-server", None


class EmptyEngine(http.server.BaseHTTPRequestHandler):
    """Says that it is a container engine, and that it has nothing."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        answer = {"message": "No such container"}
        if self.path.endswith("/version"):
            answer = {"ApiVersion": "1.41", "MinAPIVersion": "1.12"}
        elif "/containers/json" in self.path:
            answer = []
        body = json.dumps(answer).encode()
        self.send_response(404 if "message" in answer else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return "-"

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def empty_engine(path):
    class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True

    with Server(path, EmptyEngine) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


def is_up(port, process):
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        time.sleep(0.1)
    return False


@contextlib.contextmanager
def peer(home):
    """The other server; its address, or None."""
    program, why = peer_program(home)
    if not program:
        bench.say({"bench": "another server", "skipped": why})
        yield None
        return
    port = free_port()
    config = pathlib.Path(home) / "peer.toml"
    config.write_text(PEER_CONFIG.format(port=port, key=bench.KEY))
    engine = f"{home}/engine.sock"
    with open(f"{home}/peer.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [str(program), "--config", str(config)], stdout=log, stderr=log,
            env=dict(os.environ, SANDBOX_CONFIG_PATH=str(config),
                     DOCKER_HOST=f"unix://{engine}"))
    try:
        with empty_engine(engine):
            if is_up(port, process):
                yield f"127.0.0.1:{port}"
                return
        text = pathlib.Path(f"{home}/peer.log").read_text()
        bench.say({"bench": "another server", "skipped": text.strip()[-200:]})
        yield None
    finally:
        process.kill()
        process.wait()


def measure(where, name, connections, method, path, body=None):
    return bench.say(bench.load(where, name, connections, SECONDS, method,
                                path, body))


def compare(ours, theirs, what, connections):
    bench.say({"bench": f"{what}, {connections} connections: osbd's requests "
                        "a second beside",
               "ratio": round(ours["per_s"] / theirs["per_s"], 3)})


def main():
    unknown = "/v1/sandboxes/" + "0" * 32
    with bench.service() as daemon, peer(daemon.home) as other:
        ours = bench.address(daemon)
        ids, _ = bench.create(ours, "one", 1, 1, f"{daemon.home}/made")
        one = f"/v1/sandboxes/{ids[0]}"
        size = len(daemon.tcp(bench.KEY).get(one).body)
        with echo(size) as bare:
            for num in (1, 8):
                get = measure(ours, "osbd: get a sandbox", num, "GET", one)
                compare(get, measure(bare, "bare server", num, "GET", one),
                        "a bare server", num)
                for path, what in (("/health", "health"),
                                   (unknown, "get an unknown one")):
                    mine = measure(ours, f"osbd: {what}", num, "GET", path)
                    if other:
                        compare(mine, measure(
                            other, f"another server: {what}", num, "GET",
                            path), f"another server's {what}", num)
                measure(ours, "osbd: command true", num, "POST",
                        f"{one}/proxy/44772/command", {"command": "true"})
        shutil.rmtree(f"{daemon.home}/venv", ignore_errors=True)


if __name__ == "__main__":
    main()
