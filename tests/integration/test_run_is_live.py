# SPDX-License-Identifier: Apache-2.0
"""What is typed arrives while the program runs, and what it says comes back."""

import subprocess
import time


def test_a_dialogue_goes_back_and_forth(daemon):
    process = daemon.popen(
        "run", "--", "sh", "-c", 'while read l; do echo "got $l"; done',
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    for word in (b"one", b"two", b"three"):
        process.stdin.write(word + b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"got " + word + b"\n"
    process.stdin.close()
    assert process.wait(timeout=5) == 0


def test_a_partial_line_is_not_held_back(daemon):
    process = daemon.popen(
        "run", "--", "sh", "-c", "printf 'name? '; read n; echo hi $n",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.read(6) == b"name? "
    process.stdin.write(b"bo\n")
    process.stdin.close()
    assert process.stdout.read() == b"hi bo\n"
    assert process.wait(timeout=5) == 0


def test_a_closed_reader_ends_an_endless_writer(daemon):
    start = time.monotonic()
    process = daemon.popen("run", "--", "yes", stdout=subprocess.PIPE)
    assert process.stdout.read(2) == b"y\n"
    process.stdout.close()
    process.wait(timeout=5)
    assert time.monotonic() - start < 5
    assert process.returncode != 0
    daemon.api().wait_gone(2)
