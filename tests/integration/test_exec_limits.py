# SPDX-License-Identifier: Apache-2.0
"""What one exec may use: from its request, its sandbox, or osbd.conf."""

import pytest

import api as http_api

BUSY = "while :; do :; done"


def outcome(box, script, **body):
    return box.command(script, timeout=20000, **body)[-1]["outcome"]


def verdict(box, script, **first):
    argv = ("bash", "-c", script)
    with box.exec(*argv, timeout_ms=20000, **first) as running:
        return running.wait().verdict


@pytest.mark.parametrize("how", ["resourceLimits", "extensions"])
def test_a_sandbox_has_defaults(daemon, how):
    limits = {"cpuTime": "0.2s", "output": "1.5Ki", "outputPolicy": "kill"}
    if how == "extensions":
        fields = {"extensions": {f"osb.{k}": v for k, v in limits.items()}}
    else:
        fields = {"resourceLimits": limits}
    box = daemon.api().create(**fields)
    shown = box.get().json()["resourceLimits"]
    assert shown["cpuTime"] == "200ms"
    assert (shown["output"], shown["outputPolicy"]) == ("1536", "kill")
    for how_to_run in (outcome, verdict):
        assert how_to_run(box, BUSY)["verdict"] == "cpu_timeout"
        ended = how_to_run(box, "head -c 2000 /dev/zero; sleep 20")
        assert (ended["verdict"], ended["output_bytes"]) == ("output_limit", 1536)
        # What a request says goes before it.
        limits = {"output": "2000", "outputPolicy": "truncate"}
        ended = how_to_run(box, "head -c 3000 /dev/zero", limits=limits)
        assert (ended["verdict"], ended["output_bytes"]) == ("exited", 2000)
    box.delete()


def test_an_extension_is_a_limit_of_the_sandbox(daemon):
    extensions = {
        "osb.pids": "40", "osb.disk": "16Mi", "osb.inodes": "1k",
        "osb.nofile": "64", "someone.else": "x",
    }  # fmt: skip
    box = daemon.api().create(extensions=extensions)
    shown = box.get().json()["resourceLimits"]
    assert (shown["pids"], shown["inodes"], shown["nofile"]) == ("40", "1000", "64")
    assert shown["disk"] == str(16 << 20)
    assert "cpuTime" not in shown and "output" not in shown
    assert box.command("ulimit -n")[2]["text"] == "64"
    box.delete()


def test_osbd_conf_has_defaults_for_all(service):
    daemon = service("--private", osbd_config=(
        "cpu_time = 0.2s\noutput_max = 1000\noutput_policy = kill\n"
    ))  # fmt: skip
    box = daemon.api().create()
    assert outcome(box, BUSY)["verdict"] == "cpu_timeout"
    assert verdict(box, "yes")["verdict"] == "output_limit"
    box.delete()
    box = daemon.api().create(resourceLimits={"output": "2000", "outputPolicy": "truncate"})
    ended = outcome(box, "head -c 3000 /dev/zero")
    assert (ended["verdict"], ended["output_bytes"]) == ("exited", 2000)
    box.delete()
    assert daemon.sh(BUSY).code == 124


def test_fewer_processes_than_the_sandbox(daemon):
    # dash doesn't try again, but fails.
    source = "sh -c 'for i in 1 2 3 4 5 6 7 8 9; do sleep 5 & done'; exit 0"
    box = daemon.api().create()
    for how in (outcome, verdict):
        ended = how(box, source, limits={"pids": "4"})
        assert ended["limits_hit"] == ["pids"]
        assert ended["peak_pids"] <= 4
        assert ended["left_running"] == []
        ended = how(box, source)  # the next one may again
        assert (ended["verdict"], ended["limits_hit"]) == ("exited", [])
    done = daemon.osb("exec", "--json", "--pids", "4", box.id, "--", "bash", "-c", source)
    assert done.json()["limits_hit"] == ["pids"]
    box.delete()


def test_a_detached_program_has_them_too(daemon):
    box = daemon.api().create()
    for options, script, want in (
        (("--cpu-time", "0.2"), BUSY, "cpu_timeout"),
        (("--output-max", "1k", "--output-policy", "kill"), "yes", "output_limit"),
    ):
        done = daemon.osb(
            "exec", "--detach", *options, box.id, "--", "bash", "-c", script
        )
        assert done.code == 0, done
        assert box.wait_ended(done.out.strip())["verdict"] == want
    box.delete()


def test_exit_codes_of_our_kills(daemon):
    assert daemon.sh(BUSY, "--cpu-time", "200ms").code == 124
    done = daemon.sh("yes", "--output-max", "100", "--output-policy", "kill")
    assert (done.code, len(done.stdout)) == (137, 100), done
    assert "printed more" in done.err
    done = daemon.sh("head -c 101 /dev/zero; exit 3", "--output-max", "100")
    assert (done.code, len(done.stdout)) == (3, 100), done
    assert done.err == "osb: its output was cut after 100 bytes\n"


REFUSED = [
    {"cpuTime": "0"}, {"cpuTime": "-1s"}, {"cpuTime": "1fortnight"},
    {"cpuTime": "100000h"}, {"cpuTime": 5}, {"output": "0"}, {"output": "-1"},
    {"output": "0.5"}, {"output": "lots"}, {"output": "9999999Ti"},
    {"outputPolicy": "drop"}, {"outputPolicy": ""},
]  # fmt: skip
REFUSED_OF_AN_EXEC = REFUSED + [
    {"pids": "0"}, {"pids": "257"}, {"pids": "1.5"}, {"memory": "1Gi"},
    {"nonsense": "1"}, {"output": "65Mi"}, "1s", [],
]  # fmt: skip


def test_bad_limits_of_an_exec_are_400(daemon):
    box = daemon.api().create()
    for limits in REFUSED_OF_AN_EXEC:
        body = {"command": "true", "limits": limits}
        reply = box.api.request("POST", box.proxy("/command"), body)
        assert reply.status == 400, (limits, reply)
        assert reply.json()["code"] == "INVALID_REQUEST_BODY"
        key, value = [*limits.items()][0] if isinstance(limits, dict) else ("limits", "")
        assert key in reply.json()["message"], reply
        if limits == {"output": "65Mi"}:
            continue  # nothing is kept of it here
        with box.exec("true", limits=limits) as running:
            assert running.wait().verdict["code"] == "INVALID_REQUEST_BODY", limits
    box.delete()


@pytest.mark.parametrize("how", ["resourceLimits", "extensions"])
def test_bad_limits_of_a_sandbox_are_400(daemon, how):
    for limits in REFUSED + [{"nonsense": "1"}]:
        given = limits
        if how == "extensions":
            given = {f"osb.{k}": v for k, v in limits.items()}
        body = {**http_api.CREATE_BODY, how: given}
        reply = daemon.api().request("POST", "/v1/sandboxes", body)
        assert reply.status == 400, (limits, reply)
        assert [*limits][0] in reply.json()["message"], reply
    assert daemon.api().ids() == []
