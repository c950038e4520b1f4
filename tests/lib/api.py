# SPDX-License-Identifier: Apache-2.0
"""The HTTP API over a unix socket: requests, event streams, the exec socket."""

import contextlib
import http.client
import json
import socket
import time
import urllib.parse

import websocket

KEY_HEADER = "OPEN-SANDBOX-API-KEY"
CREATE_BODY = {
    "image": {"uri": "host"},
    "entrypoint": ["tail", "-f", "/dev/null"],
    "resourceLimits": {"cpu": "1", "memory": "512Mi"},
}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class TcpConnection(http.client.HTTPConnection):
    """To an address, whatever the Host field says."""

    def __init__(self, address, timeout):
        super().__init__(*address, timeout=timeout)


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"HTTP {self.status}\n{self.headers}{self.body[:2000]!r}"


class Stream:
    """A reply that is read event by event."""

    def __init__(self, connection, response):
        self.connection, self.response = connection, response
        self.status, self.headers = response.status, response.headers

    def raw(self):
        """All bytes to the end."""
        data = self.response.read()
        self.close()
        return data

    def events(self):
        """Yield each event; a block that isn't one JSON object fails."""
        block = b""
        for line in self.response:
            if line == b"\n":
                yield json.loads(block)
                block = b""
            else:
                assert block == b"", "an event is one line"
                block = line
        assert block == b"", "the stream ends after a blank line"
        self.close()

    def close(self):
        self.connection.close()


class Sandbox:
    def __init__(self, api, record):
        self.api, self.record, self.id = api, record, record["id"]

    def path(self, rest=""):
        return f"/v1/sandboxes/{self.id}{rest}"

    def proxy(self, rest):
        return f"/sandboxes/{self.id}/proxy/44772{rest}"

    def get(self):
        return self.api.request("GET", self.path())

    def delete(self):
        return self.api.request("DELETE", self.path())

    def command(self, command, **body):
        """POST /command; the list of its events."""
        stream = self.command_stream(command, **body)
        assert stream.status == 200, stream.raw()
        return list(stream.events())

    def command_stream(self, command, **body):
        body["command"] = command
        return self.api.stream("POST", self.proxy("/command"), body)

    def start(self, command, **body):
        """POST /command in the background; its id."""
        events = self.command(command, background=True, **body)
        kinds = [event["type"] for event in events]
        assert kinds == ["init", "execution_complete"], events
        return events[0]["text"]

    def status(self, command_id):
        reply = self.api.get(self.proxy(f"/command/status/{command_id}"))
        assert reply.status == 200, reply
        return reply.json()

    def wait_ended(self, command_id, seconds=10):
        """Its status, once it has ended."""
        end = time.monotonic() + seconds
        while (status := self.status(command_id))["running"]:
            assert time.monotonic() < end, f"it runs on: {status}"
            time.sleep(0.02)
        return status

    def logs(self, command_id, cursor=0):
        """What is in its log from there on, and where that ends."""
        path = self.proxy(f"/command/{command_id}/logs?cursor={cursor}")
        reply = self.api.get(path)
        assert reply.status == 200, reply
        return reply.body, int(reply.headers["EXECD-COMMANDS-TAIL-CURSOR"])

    def log(self, command_id):
        """All that is in its log, piece by piece."""
        whole, cursor = b"", 0
        while True:
            piece, cursor = self.logs(command_id, cursor)
            if not piece:
                return whole
            whole += piece
            assert cursor == len(whole)

    def follow(self, command_id, start=None):
        """GET /command/ID/events, from the offsets STDOUT, STDERR."""
        query = "" if start is None else f"?from={start[0]},{start[1]}"
        path = self.proxy(f"/command/{command_id}/events{query}")
        return self.api.stream("GET", path)

    def forget(self, command_id):
        return self.api.request("DELETE", self.proxy(f"/command/{command_id}"))

    def upload(self, *files):
        """POST /files/upload; files are (metadata, content) pairs."""
        boundary = "----------------osbtest"
        parts = []
        for metadata, content in files:
            parts.append(
                f"--{boundary}\r\nContent-Disposition: form-data; "
                'name="metadata"; filename="metadata"\r\n'
                "Content-Type: application/json\r\n\r\n".encode()
                + json.dumps(metadata).encode()
                + b"\r\n"
            )
            parts.append(
                f"--{boundary}\r\nContent-Disposition: form-data; "
                'name="file"; filename="x"\r\n'
                "Content-Type: application/octet-stream\r\n\r\n".encode()
                + content
                + b"\r\n"
            )
        parts.append(f"--{boundary}--\r\n".encode())
        return self.api.request(
            "POST",
            self.proxy("/files/upload"),
            b"".join(parts),
            {"Content-Type": f"multipart/form-data; boundary={boundary}"},
        )

    def download(self, path, **headers):
        query = urllib.parse.urlencode({"path": path})
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        return self.api.request(
            "GET", self.proxy(f"/files/download?{query}"), headers=headers
        )

    def exec(self, *argv, **first):
        """Open the exec WebSocket and send its first message."""
        return Exec(self.api, self.id, argv, first)

    def run(self, *argv, **first):
        """The verdict of a program, with its stdout and stderr."""
        with self.exec(*argv, **first) as running:
            return running.wait()


class Exec:
    """One program over the exec WebSocket."""

    def __init__(self, api, sandbox_id, argv, first):
        self.ws = api.websocket(f"/v1/sandboxes/{sandbox_id}/exec")
        self.stdout, self.stderr = b"", b""
        self.pid, self.verdict, self.close_code = None, None, None
        self.largest = 0
        if argv:
            first = {"argv": list(argv), **first}
        self.ws.send(json.dumps(first))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ws.shutdown()

    def stdin(self, data):
        self.ws.send_binary(b"\0" + data)

    def control(self, **message):
        self.ws.send(json.dumps(message))

    def receive(self):
        """Take one message in; False at the end."""
        opcode, data = self.ws.recv_data()
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            self.close_code = int.from_bytes(data[:2], "big")
            return False
        if opcode == websocket.ABNF.OPCODE_BINARY:
            self.largest = max(self.largest, len(data) - 1)
            assert data[:1] in (b"\1", b"\2"), data[:1]
            if data[:1] == b"\1":
                self.stdout += data[1:]
            else:
                self.stderr += data[1:]
            return True
        message = json.loads(data)
        assert self.verdict is None, f"after the last message: {message}"
        if message["type"] == "started":
            self.pid = message["pid"]
        elif message["type"] in ("verdict", "error"):
            self.verdict = message
        else:
            raise AssertionError(f"unknown message {message}")
        return True

    def wait_started(self):
        while self.pid is None and self.receive():
            pass
        return self.pid

    def wait(self):
        while self.receive():
            pass
        return self


class Api:
    def __init__(self, socket_path, key=None, timeout=60, address=None):
        """By a unix socket, or by TCP to an address, (host, port)."""
        self.socket_path, self.key, self.timeout = socket_path, key, timeout
        self.address = address

    def _send(self, method, path, body, headers):
        headers = dict(headers or {})
        if self.key is not None:
            headers.setdefault(KEY_HEADER, self.key)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        if self.address:
            connection = TcpConnection(self.address, self.timeout)
        else:
            connection = UnixConnection(self.socket_path, self.timeout)
        connection.request(method, path, body, headers)
        return connection, connection.getresponse()

    def request(self, method, path, body=None, headers=None):
        connection, response = self._send(method, path, body, headers)
        try:
            return Reply(response)
        finally:
            connection.close()

    def get(self, path, **kwargs):
        return self.request("GET", path, **kwargs)

    def stream(self, method, path, body=None, headers=None):
        return Stream(*self._send(method, path, body, headers))

    def connect(self):
        """A connected socket, for requests that no library would send."""
        if self.address:
            return socket.create_connection(self.address, self.timeout)
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(self.timeout)
        sock.connect(str(self.socket_path))
        return sock

    def raw(self, data, seconds=5):
        """Send bytes as they are; what comes back until the peer closes."""
        received = b""
        with self.connect() as sock:
            sock.settimeout(seconds)
            with contextlib.suppress(BrokenPipeError):
                sock.sendall(data)  # the answer may come before its end
            try:
                while chunk := sock.recv(65536):
                    received += chunk
            except (socket.timeout, ConnectionResetError):
                pass
        return received

    def websocket(self, path, origin=None):
        headers = [f"{KEY_HEADER}: {self.key}"] if self.key else []
        return websocket.create_connection(
            f"ws://localhost{path}",
            socket=self.connect(),
            header=headers,
            timeout=self.timeout,
            origin=origin,
            suppress_origin=origin is None,
        )

    def create(self, **changes):
        """A sandbox; fields given as None are left out of the request."""
        body = {k: v for k, v in {**CREATE_BODY, **changes}.items()
                if v is not None}  # fmt: skip
        reply = self.request("POST", "/v1/sandboxes", body)
        assert reply.status == 202, reply
        return Sandbox(self, reply.json())

    def ids(self):
        return [item["id"] for item in self.get("/v1/sandboxes").json()["items"]]

    def wait_gone(self, seconds):
        """Wait until this domain has no sandbox."""
        end = time.monotonic() + seconds
        while self.ids():
            assert time.monotonic() < end, f"still there: {self.ids()}"
            time.sleep(0.02)
