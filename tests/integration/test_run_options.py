# SPDX-License-Identifier: Apache-2.0
"""--env --workdir --copy --volume --network: each does what it says."""

import os


def test_env_is_set_and_the_last_wins(daemon):
    done = daemon.sh(
        'printf "%s|%s|%s" "$A" "$B" "$C"',
        "--env", "A=1", "--env", "B=x=y z", "--env", "A=2", "--env", "C=",
    )  # fmt: skip
    assert done.out == "2|x=y z|"


def test_workdir_is_the_start(daemon):
    assert daemon.run("--workdir", "/tmp", "--", "pwd").out == "/tmp\n"


def test_a_missing_workdir_is_an_error_that_names_it(daemon):
    done = daemon.run("--workdir", "/not/there", "--", "pwd")
    assert done.code in (125, 126, 127), done
    assert "/not/there" in done.err


def test_copy_brings_a_file_with_its_bytes_and_mode(daemon, tmp_path):
    source = tmp_path / "tool"
    source.write_bytes(b"#!/bin/sh\nprintf 'a\\000b'\n")
    source.chmod(0o755)
    done = daemon.run(
        "--copy", f"{source}:/workspace/bin/tool", "--", "/workspace/bin/tool"
    )
    assert done.stdout == b"a\0b", done


def test_copy_can_be_given_twice(daemon, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    done = daemon.run(
        "--copy", f"{tmp_path}/a:/workspace/1",
        "--copy", f"{tmp_path}/b:/workspace/2",
        "--", "cat", "/workspace/1", "/workspace/2",
    )  # fmt: skip
    assert done.out == "ab", done


def test_a_copied_file_belongs_to_who_runs(daemon, tmp_path):
    (tmp_path / "data").write_text("x")
    done = daemon.sh(
        "echo y >>data && cat data", "--copy", f"{tmp_path}/data:/workspace/data"
    )
    assert done.out == "xy\n", done


def test_copy_does_not_touch_the_source(daemon, tmp_path):
    (tmp_path / "data").write_text("x")
    daemon.sh("echo y >data", "--copy", f"{tmp_path}/data:/workspace/data")
    assert (tmp_path / "data").read_text() == "x"


def test_a_volume_over_the_work_directory_may_end_with_a_slash(daemon, folder):
    with open(f"{folder}/data", "w") as file:
        file.write("42\n")
    done = daemon.run(
        "--volume", f"{folder}/:/workspace/:rw", "--", "cat", "data"
    )  # fmt: skip
    assert done.out == "42\n", done


def test_a_read_only_volume_can_be_read_and_not_written(daemon, folder):
    with open(f"{folder}/data", "w") as file:
        file.write("42\n")
    done = daemon.sh(
        "cat /data/data; touch /data/new || echo refused",
        "--user", "root", "--volume", f"{folder}:/data:ro",
    )  # fmt: skip
    assert done.out == "42\nrefused\n", done
    assert os.listdir(folder) == ["data"]


def test_a_volume_is_shared_with_the_host(daemon, folder):
    os.chmod(folder, 0o777)
    done = daemon.sh(
        "echo made >/data/new && cat /data/new", "--volume", f"{folder}:/data"
    )
    assert done.out == "made\n", done
    with open(f"{folder}/new") as file:
        assert file.read() == "made\n"


def test_a_volume_holds_no_devices_and_no_setuid(daemon, folder):
    done = daemon.sh(
        "grep ' /data ' /proc/self/mountinfo", "--volume", f"{folder}:/data:ro"
    )
    options = done.out.split()[5].split(",")
    assert {"ro", "nosuid", "nodev"} <= set(options), done


def test_a_volume_through_a_symlink_to_a_forbidden_place_is_refused(
    daemon, folder
):
    os.symlink("/etc", f"{folder}/link")
    done = daemon.run("--volume", f"{folder}/link:/data:ro", "--", "ls", "/data")
    assert done.code == 125, done
    assert "--volume" in done.err


def test_a_service_allows_no_volume_by_default(service, folder):
    daemon = service()
    done = daemon.run("--volume", f"{folder}:/data:ro", "--", "true")
    assert done.code == 125, done


def test_network_none_is_the_only_one(daemon):
    assert daemon.run("--network", "none", "--", "true").code == 0


def test_options_after_the_program_are_the_programs(daemon):
    assert daemon.run("--", "echo", "--memory", "1").out == "--memory 1\n"
    assert daemon.run("echo", "--json").out == "--json\n"
