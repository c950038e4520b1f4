# SPDX-License-Identifier: Apache-2.0
"""osb run: both streams to where they belong, and the program's own status."""

import pytest


def test_out_err_and_status_seven(daemon):
    done = daemon.sh("echo out; echo err >&2; exit 7")
    assert (done.stdout, done.stderr, done.code) == (b"out\n", b"err\n", 7)


def test_arguments_arrive_as_given(daemon):
    args = ["", " ", "a b", "$HOME", "*", "'", '"', "\\", "\n", "--json", "é"]
    done = daemon.run("--", "printf", "[%s]", *args)
    assert done.out == "".join(f"[{arg}]" for arg in args)


@pytest.mark.parametrize("code", [0, 1, 42, 124, 125, 126, 137, 255])
def test_every_status_is_the_programs(daemon, code):
    assert daemon.sh(f"exit {code}").code == code


@pytest.mark.parametrize(
    "signal, code", [("TERM", 143), ("INT", 130), ("SEGV", 139), ("KILL", 137)]
)
def test_a_signal_is_128_and_its_number(daemon, signal, code):
    done = daemon.sh(f"kill -{signal} $$")
    assert done.code == code, done


def test_stderr_is_empty_when_all_is_well(daemon):
    done = daemon.run("--", "true")
    assert (done.code, done.stdout, done.stderr) == (0, b"", b"")
