# SPDX-License-Identifier: Apache-2.0
"""osb run passes every byte in and out, and ends of streams too."""

import hashlib
import os

import pytest


def test_nul_and_invalid_utf8_pass(daemon):
    done = daemon.run("--", "cat", input=b"a\0\377b")
    assert done.stdout == b"a\0\377b"
    assert done.code == 0


def test_every_byte_value_passes_on_both_streams(daemon):
    every = bytes(range(256)) * 5
    done = daemon.sh("tee /dev/stderr", input=every)
    assert done.stdout == every
    assert done.stderr == every


@pytest.mark.parametrize("size", [1, 4095, 32767, 32768, 32769, 3_000_001])
def test_sizes_around_the_buffers_pass(daemon, size):
    data = os.urandom(size)
    done = daemon.run("--", "cat", input=data)
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()


def test_an_empty_stdin_is_an_end_of_file(daemon):
    done = daemon.run("--", "wc", "-c", input=b"")
    assert done.out.strip() == "0"


def test_stdin_from_dev_null_is_an_end_of_file(daemon):
    done = daemon.run("--", "wc", "-c", input=None)
    assert done.out.strip() == "0"


def test_a_program_that_reads_nothing_ends_in_time(daemon):
    done = daemon.run("--", "true", input=b"x" * 1_000_000)
    assert done.code == 0


def test_output_of_both_streams_is_complete_at_exit(daemon):
    done = daemon.sh("seq 100000; seq 100000 >&2")
    lines = "".join(f"{i}\n" for i in range(1, 100001))
    assert done.out == lines
    assert done.err == lines
