# SPDX-License-Identifier: Apache-2.0
"""A wall timeout ends every descendant, soon after the deadline."""

import time

import procs


def test_setsid_and_background_children_die_too(daemon):
    marker = "300.0421"
    done = daemon.sh(
        f"setsid sleep {marker} & sleep {marker}", "--timeout", "1s", input=None
    )
    assert done.code == 124, done
    assert 0.9 <= done.seconds < 1.5, done
    assert procs.with_argument(marker) == []


def test_double_forked_daemons_die_too(daemon):
    marker = "300.0422"
    script = f"(setsid sh -c 'sleep {marker} & sleep {marker}' &) ; sleep 300"
    done = daemon.sh(script, "--timeout", "500ms")
    assert done.code == 124, done
    assert procs.with_argument(marker) == []


def test_a_program_that_ignores_every_signal_dies(daemon):
    script = "import signal, time\nfor n in range(1, 65):\n" \
        " try: signal.signal(n, signal.SIG_IGN)\n" \
        " except (OSError, ValueError): pass\n" \
        "while True: time.sleep(100)"
    done = daemon.python(script, "--timeout", "1s")
    assert done.code == 124
    assert done.seconds < 1.5


def test_output_before_the_deadline_is_kept(daemon):
    done = daemon.sh("seq 50000; sleep 300", "--timeout", "1s")
    assert done.code == 124
    assert done.out.splitlines()[-1] == "50000"


def test_a_frozen_reader_does_not_delay_the_end(daemon):
    """Nobody reads our stdout: the tree must be gone in time even so."""
    import subprocess

    marker = "300.0423"
    process = daemon.popen(
        "run", "--timeout", "1s", "--", "sh", "-c",
        f"sleep {marker} & yes", stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        procs.wait_for(lambda: procs.with_argument(marker), 2, "it runs")
        time.sleep(1.5)
        assert procs.with_argument(marker) == []
    finally:
        process.stdout.close()
        process.wait(timeout=5)


def test_a_program_in_time_keeps_its_status(daemon):
    assert daemon.sh("exit 3", "--timeout", "20s").code == 3


def test_a_deadline_holds_though_init_does_not_answer(daemon):
    """Then the sandbox is ended from outside, a few seconds later."""
    import os
    import signal
    import subprocess

    marker = "300.0429"
    process = daemon.popen(
        "run", "--timeout", "1s", "--", "sleep", marker,
        stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    found = procs.wait_for(lambda: [
        pid for pid in procs.with_argument(marker)
        if procs.comm(pid) == "sleep"
    ], 5, "the program")  # fmt: skip
    init = procs.parent(found[0])
    assert procs.comm(init) == "osb-init"
    os.kill(init, signal.SIGSTOP)
    assert process.wait(10) == 124
    assert procs.with_argument(marker) == []
