# SPDX-License-Identifier: Apache-2.0
"""A bad value: exit 125 and one line with option, value and what is allowed."""

import pytest

CASES = [
    ("--memory", "0"),
    ("--memory", "-1"),
    ("--memory", "12q"),
    ("--memory", ""),
    ("--memory", "1.Gi"),
    ("--memory", "0.5"),
    ("--memory", "99999999999999999999"),
    ("--memory", "1"),
    ("--disk", "0"),
    ("--disk", "-5m"),
    ("--disk", "lots"),
    ("--timeout", "x"),
    ("--timeout", "0"),
    ("--timeout", "-3s"),
    ("--timeout", "1fortnight"),
    ("--cpus", "-2"),
    ("--cpus", "0"),
    ("--cpus", "many"),
    ("--pids", "0"),
    ("--pids", "-1"),
    ("--pids", "ten"),
    ("--pids", "9999999999"),
    ("--cpu-time", "0"),
    ("--cpu-time", "-1s"),
    ("--cpu-time", "x"),
    ("--output-max", "0"),
    ("--output-max", "-1"),
    ("--output-max", "0.5"),
    ("--output-policy", "drop"),
    ("--image", "nope"),
    ("--image", "../etc"),
    ("--user", "nobody-here"),
    ("--user", "-1"),
    ("--user", "99999999999"),
    ("--user", "1000:"),
    ("--env", "=x"),
    ("--workdir", "relative"),
    ("--network", "host"),
    ("--volume", "nothing"),
    ("--volume", "relative:/data"),
    ("--volume", "/tmp:relative"),
    ("--volume", "/tmp:/data:rx"),
    ("--volume", "/etc:/data"),
    ("--volume", "/:/data"),
    ("--volume", "/proc:/data"),
    ("--volume", "/root/.ssh:/data:ro"),
    ("--volume", "/run:/data"),
    ("--copy", "nothing"),
    ("--copy", "/does/not/exist:/workspace/x"),
]  # fmt: skip


@pytest.mark.parametrize("option, value", CASES)
def test_the_command_line_says_why(daemon, option, value):
    done = daemon.run(option, value, "--", "true")
    assert done.code == 125, done
    assert done.stdout == b""
    lines = done.err.splitlines()
    assert len(lines) == 1, done
    assert option in lines[0], "the option"
    assert value in lines[0], "the value"
    assert len(lines[0]) > len(f"osb: {option} '{value}'") + 8, "what is allowed"


BOUNDS = [
    ("--nofile", "20000", "at most 16384"),
    ("--nofile", "5", "at least 16"),
    ("--pids", "40000", "at most 30000"),
    ("--inodes", "10", "at least 16"),
    ("--inodes", "200m", "at most 100000000"),
    ("--memory", "1", "at least 4Mi"),
    ("--memory", "9999999999Gi", "at most 1024Ti"),
    ("--disk", "1k", "at least 64Ki"),
    ("--shm", "1Gi", "at most --memory (512Mi)"),
    ("--cpus", "1m", "at least 0.01"),
    ("--cpus", "5000", "at most 1000"),
    ("--timeout", "100000h", "at most 87600h"),
    ("--cpu-time", "100000h", "at most 87600h"),
    ("--output-max", "2000Ti", "at most 1024Ti"),
    ("--output-policy", "x", "truncate, kill or back-pressure"),
    ("--volume", "nope:/x", "'nope': No such file or directory"),
    ("--volume", "/srv:/usr/x", "/dev /proc /sys /usr /bin /lib /etc /sbin"),
]  # fmt: skip


@pytest.mark.parametrize("option, value, bound", BOUNDS)
def test_what_is_allowed_is_told(daemon, option, value, bound):
    done = daemon.run(option, value, "--", "true")
    assert done.code == 125, done
    assert done.err.startswith(f"osb: {option} '{value}': "), done
    assert bound in done.err, done
    assert done.err.count("\n") == 1, done


def test_too_many_volumes_are_refused_by_option(daemon, tmp_path):
    volumes = [f"--volume={tmp_path}:/v{i}" for i in range(9)]
    done = daemon.run(*volumes, "--", "true")
    assert done.code == 125, done
    assert "--volume" in done.err and "at most 8" in done.err, done


@pytest.mark.parametrize(
    "args",
    [
        ["--nonsense", "--", "true"],
        ["--memory"],
        [],
        ["--"],
        ["--", ""],
    ],
)
def test_a_wrong_command_line_is_125_and_one_line(daemon, args):
    done = daemon.run(*args)
    assert done.code == 125, done
    assert len(done.err.splitlines()) == 1, done


def test_nothing_is_made_for_a_bad_value(daemon):
    daemon.run("--memory", "12q", "--", "true")
    assert daemon.api().ids() == []


API_CASES = [
    {"resourceLimits": {"memory": "0"}},
    {"resourceLimits": {"memory": "-1"}},
    {"resourceLimits": {"memory": "12q"}},
    {"resourceLimits": {"memory": 512}},
    {"resourceLimits": {"memory": "512Mi", "cpu": "-2"}},
    {"resourceLimits": {"memory": "512Mi", "cpu": "0"}},
    {"resourceLimits": {"pids": "0"}},
    {"resourceLimits": {"disk": "x"}},
    {"resourceLimits": {"disk": "1k"}},
    {"resourceLimits": {"shm": "1Gi"}},
    {"resourceLimits": {"nofile": "5"}},
    {"resourceLimits": "512Mi"},
    {"resourceLimits": None},
    {"image": {"uri": "nope"}},
    {"image": {}},
    {"image": None},
    {"image": "host"},
    {"entrypoint": []},
    {"entrypoint": None},
    {"entrypoint": [1]},
    {"timeout": 59},
    {"timeout": -1},
    {"timeout": "60"},
    {"timeout": 10**30},
    {"metadata": {"opensandbox.io/x": "y"}},
    {"metadata": {"-bad": "y"}},
    {"metadata": {"a": "not a label"}},
    {"env": {"A": 1}},
    {"env": "A=1"},
    {"volumes": [{"name": "v", "mountPath": "/d", "host": {"path": "/etc"}}]},
    {"volumes": [{"name": "v", "mountPath": "rel", "host": {"path": "/tmp"}}]},
    {"volumes": [{"name": "V_", "mountPath": "/d", "host": {"path": "/tmp"}}]},
    {"volumes": [{"name": "v", "mountPath": "/d"}]},
]


@pytest.mark.parametrize("changes", API_CASES, ids=str)
def test_the_api_answers_400_in_the_envelope(daemon, changes):
    import api as http_api

    body = {**http_api.CREATE_BODY, **changes}
    body = {k: v for k, v in body.items() if v is not None}
    reply = daemon.api().request("POST", "/v1/sandboxes", body)
    assert reply.status == 400, reply
    envelope = reply.json()
    assert set(envelope) == {"code", "message"}
    assert "::" in envelope["code"]
    assert envelope["message"]
    assert daemon.api().ids() == []


def test_a_missing_image_is_named(daemon):
    import api as http_api

    body = {k: v for k, v in http_api.CREATE_BODY.items() if k != "image"}
    reply = daemon.api().request("POST", "/v1/sandboxes", body)
    assert reply.status == 400, reply
    assert reply.json()["code"] == "SANDBOX::INVALID_PARAMETER"
    assert "image" in reply.json()["message"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'"x"', b'{"image":', b"\xff\xfe"]
)
def test_a_body_that_is_no_json_object_is_400(daemon, body):
    reply = daemon.api().request(
        "POST", "/v1/sandboxes", body, {"Content-Type": "application/json"}
    )
    assert reply.status == 400, reply
    assert set(reply.json()) == {"code", "message"}
