# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy that takes a silent connection for a dead one, as many do."""

import contextlib
import select
import socket
import threading
import time

import api as http_api


class IdleProxy:
    def __init__(self, address, idle_s):
        self.address, self.idle_s, self.dropped = address, idle_s, 0
        self.listener = socket.create_server(("127.0.0.1", 0))

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(
                    target=self._serve, args=(client,), daemon=True
                ).start()

    def _serve(self, client):
        with client, socket.create_connection(self.address) as server:
            other = {client: server, server: client}
            while True:
                readable, _, _ = select.select(list(other), [], [], self.idle_s)
                if not readable:
                    self.dropped += 1
                    return
                for sock in readable:
                    data = sock.recv(65536)
                    if not data:
                        return
                    other[sock].sendall(data)

    def api(self, timeout):
        return http_api.Api(
            None, timeout=timeout, address=self.listener.getsockname()
        )


def check(daemon, idle_s, sleep_s):
    """A command that is silent for longer than the proxy bears."""
    with IdleProxy(daemon.addresses[0], idle_s) as proxy:
        api = proxy.api(sleep_s + 60)
        box = api.create()
        start = time.monotonic()
        events = box.command(f"sleep {sleep_s}; echo ok")
        assert time.monotonic() - start > sleep_s
        assert [e["text"] for e in events if e["type"] == "stdout"] == ["ok"]
        assert events[-1]["type"] == "execution_complete", events[-1]
        assert proxy.dropped == 0
        # The control: who is silent is dropped.
        with api.connect() as silent:
            silent.settimeout(idle_s + 30)
            # Else osbd doesn't wait for its first request for so long.
            silent.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while silent.recv(65536):
                pass
        assert proxy.dropped == 1
        box.delete()
