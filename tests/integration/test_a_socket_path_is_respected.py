# SPDX-License-Identifier: Apache-2.0
"""Nothing but a dead socket of ours makes way for the daemon's socket."""

import os

import osb


def test_a_file_is_left_alone(tmp_path):
    path = tmp_path / "precious"
    path.write_text("precious")
    env = osb.clean_env(OSB_SOCKET=str(path), OSB_IDLE_EXIT="1s")
    done = osb.command("run", "--", "true", env=env)
    assert done.code == 125
    assert "no socket" in done.err
    assert path.read_text() == "precious"


def test_a_bad_start_does_not_unlink(daemon):
    import subprocess

    for args in (["--bogus"], ["--config", "/nonexistent"], []):
        done = subprocess.run(
            [osb.BUILD / "osb-broker", "--socket", str(daemon.socket),
             "--run-dir", str(daemon.home / "other"), *args],
            capture_output=True,
        )  # fmt: skip
        assert done.returncode == 1, (args, done)
        assert daemon.run("--", "echo", "alive").out == "alive\n"


def test_one_broker_per_run_directory(daemon):
    import subprocess

    done = subprocess.run(
        [osb.BUILD / "osb-broker", "--run-dir", str(daemon.run_dir),
         "--socket", str(daemon.home / "second.sock")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert "another broker" in done.stderr
    assert not os.path.exists(daemon.home / "second.sock")
