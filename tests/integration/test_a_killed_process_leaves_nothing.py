# SPDX-License-Identifier: Apache-2.0
"""kill -9 of osbd, the broker or a launcher: nothing left, next run works."""

import os
import signal
import subprocess
import time

import leaks
import procs


def start_run(daemon, marker):
    process = daemon.popen(
        "run", "--", "sh", "-c", f"setsid sleep {marker} & sleep {marker}",
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    procs.wait_for(
        lambda: len(procs.with_argument(marker)) == 2, 5, "both sleeps"
    )
    return process


def ended(process):
    """How the client saw it: our own error, in one line, not a status."""
    code = process.wait(timeout=10)
    text = process.stderr.read().decode()
    process.stderr.close()
    assert code in (125, 137), (code, text)
    assert len(text.splitlines()) <= 1, text
    return code


def test_osbd(service):
    daemon = service("--private")
    old = daemon.osbd()
    process = start_run(daemon, "300.071")
    os.kill(old, signal.SIGKILL)
    assert ended(process) == 125
    procs.wait_for(lambda: not procs.with_argument("300.071"), 2, "sleeps gone")
    assert daemon.run("--", "echo", "again").out == "again\n"
    assert daemon.osbd() != old
    assert daemon.is_alive()
    assert daemon.api().ids() == []


def test_osbd_again_and_again(service):
    """At the third death within a second of its start the broker gives up."""
    daemon = service("--private")
    for i in range(6):
        if i % 2:
            time.sleep(1.1)
        os.kill(daemon.osbd(), signal.SIGKILL)
        done = daemon.run("--", "echo", str(i))
        assert done.out == f"{i}\n", done


def test_the_broker(service):
    daemon = service("--private")
    process = start_run(daemon, "300.072")
    osbd = daemon.osbd()
    launchers = daemon.launchers()
    os.kill(daemon.pid, signal.SIGKILL)
    ended(process)
    for pid in [osbd, *launchers]:
        procs.wait_for(lambda: not procs.is_alive(pid), 2, f"{pid} leaves")
    procs.wait_for(lambda: not procs.with_argument("300.072"), 2, "sleeps gone")
    daemon.restart()
    assert daemon.run("--", "echo", "again").out == "again\n"


def test_the_broker_of_osb_itself(tmp_path):
    """osb starts a new private broker where the old one was killed."""
    import osb

    socket = tmp_path / "s"
    env = osb.clean_env(OSB_SOCKET=str(socket), OSB_IDLE_EXIT="1s")
    assert osb.command("run", "--", "true", env=env).code == 0
    (broker,) = osb.brokers(socket)
    os.kill(broker, signal.SIGKILL)
    done = osb.command("run", "--", "echo", "again", env=env)
    assert done.out == "again\n", done
    procs.wait_for(
        lambda: not [
            p for p in procs.all_pids() if str(socket) in procs.cmdline(p)
        ],
        5,
        "the new one leaves when idle",
    )


def test_a_launcher(service):
    daemon = service("--private")
    assert daemon.run("--", "true").code == 0
    process = start_run(daemon, "300.073")
    for pid in daemon.launchers():
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.1)
    assert daemon.run("--", "echo", "again").out == "again\n"
    process.kill()
    process.wait()
    process.stderr.close()
    procs.wait_for(lambda: not procs.with_argument("300.073"), 2, "sleeps gone")


def test_an_init(service):
    """Pid 1 of a sandbox dies: verdict lost, exit 125, no sandbox."""
    daemon = service("--private")
    process = start_run(daemon, "300.074")
    inner = procs.with_argument("300.074")[0]
    namespace = procs.links(inner, "ns")["pid"]
    for pid in procs.all_pids():
        ids = procs.status(pid).get("NSpid", "").split()
        if ids[1:] == ["1"] and procs.links(pid, "ns")["pid"] == namespace:
            os.kill(pid, signal.SIGKILL)
    assert ended(process) == 125
    procs.wait_for(lambda: daemon.api().ids() == [], 2, "no sandbox")
    assert daemon.run("--", "echo", "again").out == "again\n"


def test_sigterm_of_the_broker_ends_everything_in_time(service):
    daemon = service("--private")
    process = start_run(daemon, "300.075")
    family = procs.descendants(daemon.pid)
    start = time.monotonic()
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(timeout=6) == 0
    assert time.monotonic() - start < 5
    ended(process)
    assert [p for p in family if procs.is_alive(p)] == []
    assert [c for c in leaks.cgroups() if str(daemon.pid) in c] == []
