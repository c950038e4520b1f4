# SPDX-License-Identifier: Apache-2.0
"""--check-config: 0, or 2 with the line of the mistake; nothing is started."""

import subprocess

import pytest

import osb

GOOD = {
    "broker.conf": "[broker]\nid_blocks = 2\n",
    "osbd.conf": "[osbd]\nlog = json\n",
    "keys": "ann:key-a\n",
}


def check(tmp_path, **changes):
    for name, text in {**GOOD, **changes}.items():
        (tmp_path / name).write_text(text)
    return subprocess.run(
        [osb.BUILD / "osb-broker", "--check-config",
         "--config", tmp_path / "broker.conf",
         "--osbd-config", tmp_path / "osbd.conf",
         "--api-key-file", tmp_path / "keys"],
        env=osb.clean_env(), capture_output=True, text=True, timeout=20,
    )  # fmt: skip


def test_good_files_say_nothing(tmp_path):
    done = check(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "name, text, want",
    [
        ("broker.conf", "[broker]\nid_blocks = many\n",
         "broker.conf: id_blocks = many: expected 1 to 64"),
        ("broker.conf", "[broker]\nhello\n",
         "broker.conf: line 2: expected KEY = VALUE"),
        ("osbd.conf", "[osbd]\n\nlog = xml\n",
         "osbd.conf: line 3: log = xml: expected text or json"),
        ("keys", "ann:key-a\n\x01\n", "key file, line 2: a key is"),
        ("keys", "", "key file: no key in it"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(tmp_path, name, text, want):
    done = check(tmp_path, **{name: text})
    assert done.returncode == 2, done
    assert want in done.stderr and done.stderr.count("\n") == 1
    assert "key-a" not in done.stderr


def test_osbd_alone(tmp_path):
    path = tmp_path / "osbd.conf"
    path.write_text("[osbd]\nmax_body = 1\n")
    done = subprocess.run(
        [osb.BUILD / "osbd", "--check-config", path], capture_output=True,
        text=True, timeout=20,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(f"osbd: {path}: line 2: max_body = 1: expected")
    path.write_text("")
    assert subprocess.run([osb.BUILD / "osbd", "--check-config", path]).returncode == 0


def test_a_file_that_is_not_there(tmp_path):
    done = subprocess.run(
        [osb.BUILD / "osb-broker", "--check-config", "--config", tmp_path / "x"],
        capture_output=True, text=True, timeout=20,
    )  # fmt: skip
    assert done.returncode == 2 and "No such file" in done.stderr
