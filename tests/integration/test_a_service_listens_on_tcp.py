# SPDX-License-Identifier: Apache-2.0
"""osb serve: sockets that others may connect to, kept by the broker."""

import os
import signal
import socket
import subprocess
import threading
import time

import pytest

import osb
import procs

LOOPBACK = ["127.0.0.1:0"]


def serve(*args, **env):
    """osb serve that mustn't start: how it ended."""
    return osb.command("serve", *args, env=osb.clean_env(**env), timeout=20)


def test_sandboxes_by_tcp(service):
    daemon = service(listen=LOOPBACK)
    api = daemon.tcp()
    assert api.get("/health").json() == {"status": "healthy"}
    box = api.create()
    try:
        assert [e["type"] for e in box.command("echo hi")][-1] == (
            "execution_complete"
        )
        assert box.run("echo", "hi").stdout == b"hi\n"
        assert box.upload(({"path": "/tmp/x"}, b"x")).status == 200
        assert box.download("/tmp/x").body == b"x"
        assert api.ids() == [box.id]
        assert daemon.api().ids() == [], "who comes by TCP isn't a uid"
    finally:
        assert box.delete().status == 204


def test_several_addresses(service, tmp_path):
    path = tmp_path / "more.sock"
    daemon = service(listen=["127.0.0.1:0", "[::1]:0", "localhost:0",
                             f"unix:{path}"])  # fmt: skip
    assert [host for host, _ in daemon.addresses] == [
        "127.0.0.1", "::1", "127.0.0.1",
    ]  # fmt: skip
    for number in range(3):
        assert daemon.tcp(number=number).get("/health").status == 200
    daemon.socket = path
    box = daemon.api().create()
    assert box.delete().status == 204
    options = procs.cmdline(daemon.osbd())
    assert f"127.0.0.1:{daemon.addresses[0][1]}" in options
    assert f"unix:{path}" in options


def test_the_socket_is_set_up_for_small_answers_and_lost_peers(service):
    daemon = service(listen=LOOPBACK)
    with daemon.tcp().connect() as sock:
        port = sock.getsockname()[1]
        sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert sock.recv(4096).startswith(b"HTTP/1.1 200 ")
        here = [
            line.split()
            for line in procs.read("self", "net/tcp").splitlines()[1:]
            if line.split()[2].endswith(f":{port:04X}")
        ]
        assert [fields[5].split(":")[0] for fields in here] == ["02"], (
            "a keep-alive timer runs"
        )


def test_who_connects_while_osbd_is_away_waits(service):
    daemon = service(listen=LOOPBACK)
    first = daemon.osbd()
    os.kill(first, signal.SIGSTOP)
    statuses = []
    asking = [
        threading.Thread(
            target=lambda: statuses.append(daemon.tcp().get("/health").status)
        )
        for _ in range(10)
    ]
    for thread in asking:
        thread.start()
    time.sleep(0.2)
    os.kill(first, signal.SIGKILL)
    for thread in asking:
        thread.join()
    assert statuses == [200] * 10
    assert daemon.osbd() != first


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_the_end_is_within_five_seconds(service, sig):
    daemon = service(listen=LOOPBACK)
    box = daemon.tcp().create()
    running = box.exec("sleep", "300.071")
    running.wait_started()
    pids = daemon.pids() + procs.with_argument("300.071")
    start = time.monotonic()
    daemon.process.send_signal(sig)
    assert daemon.process.wait(timeout=6) == 0
    assert time.monotonic() - start < 5
    assert not any(procs.is_alive(pid) for pid in pids)
    with pytest.raises(ConnectionRefusedError):
        daemon.tcp().connect()


def test_others_need_keys(service, tmp_path):
    for address in ("0.0.0.0", "[::]:8080", "192.0.2.1:80"):
        done = serve("--listen", address, "--run-dir", tmp_path / "run")
        assert done.code == 125, done
        assert done.err.count("\n") == 1
        assert f"--listen {address}" in done.err and "--api-key-file" in done.err
    daemon = service(listen=["0.0.0.0:0"], keys={"ann": "key-a"})
    port = daemon.addresses[0][1]
    daemon.addresses = [("127.0.0.1", port)]
    assert daemon.tcp().get("/v1/sandboxes").status == 401
    assert daemon.tcp(key="key-a").get("/v1/sandboxes").status == 200


@pytest.mark.parametrize(
    "value",
    ["", "host.example", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
     "127.0.0.1:8k", "::1", "[::1", "[127.0.0.1]", "1.2.3", "unix:", "tcp:80",
     "unix:/" + "x" * 107, "[::1]8080", "127.0.0.1:80:80"],
)  # fmt: skip
def test_a_bad_address_is_one_clear_line(value):
    done = serve("--listen", value)
    assert done.code == 125 and done.err.count("\n") == 1, done
    assert "--listen" in done.err and "[IPV6]" in done.err


def test_an_address_in_use_is_one_clear_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        done = serve("--listen", f"127.0.0.1:{port}", "--run-dir", tmp_path)
    assert done.code == 125 and done.err.count("\n") == 1, done
    assert f"127.0.0.1:{port}" in done.err and "in use" in done.err


def broker(num, *sockets, pid=None):
    """osb-broker with LISTEN_FDS; it mustn't start."""
    script = (
        "import os, sys; n = len(sys.argv[2].split(',')) if sys.argv[2] else 0\n"
        "fds = [os.dup(int(f)) for f in sys.argv[2].split(',') if f]\n"
        "fds = [os.dup2(f, 60 + i) for i, f in enumerate(fds)]\n"
        "[os.dup2(f, 3 + i) for i, f in enumerate(fds)]\n"
        "os.environ['LISTEN_PID'] = str(os.getpid())\n"
        "os.execv(sys.argv[1], ['osb-broker', '--run-dir', '/nonexistent/x'])\n"
    )
    return subprocess.run(
        [osb.PYTHON, "-c", script, osb.BUILD / "osb-broker",
         ",".join(str(s.fileno()) for s in sockets)],
        env=osb.clean_env(LISTEN_FDS=num), capture_output=True, text=True,
        pass_fds=[s.fileno() for s in sockets], timeout=20,
    )  # fmt: skip


def test_what_isnt_a_listening_stream_is_refused():
    with socket.socket() as fresh, socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        for sock in (fresh, udp):
            done = broker("1", sock)
            assert done.returncode == 1 and done.stderr.count("\n") == 1
            assert "LISTEN_FDS=1: descriptor 3 isn't a listening" in done.stderr
    for num in ("9", "-1", "x", ""):
        done = broker(num)
        assert done.returncode == 1 and "LISTEN_FDS=" in done.stderr, done


def test_exposed_sockets_from_elsewhere_need_keys_too(service, tmp_path):
    """A socket unit may listen anywhere: osbd looks for itself."""
    with socket.create_server(("0.0.0.0", 0)) as sock:
        os.set_inheritable(sock.fileno(), True)
        run = tmp_path / "run"
        config = tmp_path / "broker.conf"
        config.write_text(f"[broker]\ncgroup_parent = {osb.CGROUP_PARENT}\n")
        script = (
            f"import os; os.dup2({sock.fileno()}, 3)\n"
            "os.environ['LISTEN_PID'] = str(os.getpid())\n"
            f"os.execv('{osb.BUILD}/osb-broker', ['osb-broker', '--run-dir', "
            f"'{run}', '--config', '{config}'])\n"
        )
        done = subprocess.run(
            [osb.PYTHON, "-c", script], env=osb.clean_env(LISTEN_FDS="1"),
            pass_fds=[sock.fileno()], capture_output=True, text=True, timeout=20,
        )  # fmt: skip
    assert done.returncode == 1, done
    assert done.stderr.count("\n") == 1 and "--api-key-file" in done.stderr


def test_readiness_is_told_to_a_service_manager(service, tmp_path, monkeypatch):
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(path))
        sock.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(path))
        service()
        assert sock.recv(100) == b"READY=1"
