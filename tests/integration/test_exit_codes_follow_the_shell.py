# SPDX-License-Identifier: Apache-2.0
"""124, 125, 126, 127, 137: each means one thing."""

import os
import shutil
import subprocess
import tempfile


def test_a_program_that_is_not_there_is_127(daemon):
    done = daemon.run("--", "no-such-program")
    assert done.code == 127
    assert len(done.err.splitlines()) == 1
    assert "no-such-program" in done.err


def test_a_path_that_is_not_there_is_127(daemon):
    assert daemon.run("--", "/workspace/nothing").code == 127


def test_a_script_without_its_interpreter_is_127_and_says_so(daemon, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = daemon.run("--copy", f"{script}:/workspace/s", "--", "/workspace/s")
    assert done.code == 127, done
    assert "interpreter" in done.err and len(done.err.splitlines()) == 1, done


def test_a_workdir_that_is_not_there_is_126(daemon):
    done = daemon.run("--workdir", "/nope", "--", "true")
    assert done.code == 126, done
    assert done.err == "osb: --workdir '/nope': no such directory inside\n"


def test_sigkill_is_137_and_says_so(daemon):
    done = daemon.sh("kill -9 $$")
    assert done.code == 137, done
    assert done.err == "osb: ended by SIGKILL\n"


def test_an_ordinary_user_is_told_before_anything_is_made():
    import osb

    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        os.chmod(home, 0o777)
        program = shutil.copy(osb.BUILD / "osb", home)  # where all may read
        done = subprocess.run(
            [program, "run", "--", "true"],
            env=osb.clean_env(OSB_SOCKET=f"{home}/s"),
            capture_output=True, text=True, timeout=10,
            user=65534, group=65534, extra_groups=[],
        )  # fmt: skip
        assert done.returncode == 125, done
        assert done.stderr.startswith("osb: this needs root for now: "), done
        assert os.listdir(home) == ["osb"]


def test_a_file_that_is_not_executable_is_126(daemon):
    done = daemon.run("--", "/etc/passwd")
    assert done.code == 126
    assert len(done.err.splitlines()) == 1


def test_a_directory_is_126(daemon):
    assert daemon.run("--", "/usr").code == 126


def test_no_daemon_to_be_had_is_125(tmp_path):
    import osb

    env = osb.clean_env(OSB_SOCKET=str(tmp_path / "no" / "such" / "folder" / "s"))
    done = osb.command("run", "--", "true", env=env)
    assert done.code == 125, done
    assert len(done.err.splitlines()) == 1, done


def test_killed_for_its_memory_is_137(daemon):
    done = daemon.python("x = bytearray(200 << 20)", "--memory", "64Mi")
    assert done.code == 137, done
    assert "memory" in done.err.lower() or "oom" in done.err.lower(), done


def test_help_is_zero_and_on_stdout(daemon):
    done = daemon.osb("--help")
    assert done.code == 0
    for word in ("run", "ps", "rm"):
        assert word in done.out
    assert done.err == ""
    done = daemon.osb("run", "--help")
    assert done.code == 0
    for option in (
        "image", "memory", "cpus", "pids", "disk", "timeout", "env",
        "workdir", "user", "volume", "copy", "network", "json",
    ):  # fmt: skip
        assert f"--{option}" in done.out, option


def test_help_needs_no_daemon(tmp_path):
    import osb

    env = osb.clean_env(OSB_SOCKET=str(tmp_path / "s"))
    assert osb.command("--help", env=env).code == 0
    assert os.listdir(tmp_path) == []


def test_an_unknown_command_is_an_error_in_one_line(daemon):
    done = daemon.osb("frobnicate")
    assert done.code == 125, done
    assert len(done.err.splitlines()) == 1
    assert "frobnicate" in done.err
