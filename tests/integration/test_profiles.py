# SPDX-License-Identifier: Apache-2.0
"""Profiles: names for limits and walls, always there or of osbd.conf."""

import pathlib

import api as http_api
import pytest

CONF = """drain_timeout = 100ms
[profile small]
inherit = judge
description = ours
memory = 64Mi
env.COURSE = 101
[profile code]
pids = 99
"""
OTHER_CONF = """drain_timeout = 100ms
[profile other]
inherit = code
"""


@pytest.fixture
def strict(daemon):
    box = daemon.api().create(extensions={"osb.profile": "strict"})
    yield box
    assert box.delete().status == 204


def profiles(daemon):
    return {item["name"]: item["values"]
            for item in daemon.api().get("/v1/profiles").json()["items"]}  # fmt: skip


def shell(box, script, **first):
    ended = box.run("sh", "-c", script, **first)
    return ended.verdict["exit_code"], ended.stdout + ended.stderr


def printed(box, command):
    return "".join(event["text"] for event in box.command(command)
                   if event["type"] == "stdout").strip()  # fmt: skip


def test_three_are_always_there(daemon):
    have = profiles(daemon)
    assert set(have) == {"code", "strict", "judge"}
    assert have["code"]["strict"] == "no" and have["strict"]["strict"] == "yes"
    listed = daemon.osb("profile", "list").out
    assert all(name in listed for name in have)
    shown = daemon.osb("profile", "show", "judge").out
    assert "[profile judge]\n" in shown and "cpuTime = 5s\n" in shown
    assert daemon.osb("profile", "show", "--json", "judge").json()["values"] == (
        have["judge"]
    )
    missing = daemon.osb("profile", "show", "gold")
    assert missing.code == 125 and "'gold'" in missing.err


def test_files_inherit_add_and_are_read_anew(service):
    daemon = service("--private", osbd_config=CONF)
    have = profiles(daemon)
    assert have["small"]["memory"] == "64Mi"
    assert have["small"]["strict"] == "yes" and have["small"]["pids"] == "64"
    assert have["small"]["env.COURSE"] == "101"
    assert have["code"]["pids"] == "99"
    script = "echo $COURSE $PYTHONHASHSEED $TZ"
    done = daemon.run("--profile", "small", "--", "sh", "-c", script)
    assert done.out == "101 0 UTC\n", done
    daemon.write_osbd_config(OTHER_CONF)
    daemon.reload()
    assert set(profiles(daemon)) == {"code", "strict", "judge", "other"}


@pytest.mark.parametrize(
    "lines, what",
    [
        ("[profile a]\nmemory = lots", "line 2: memory 'lots'"),
        ("[profile a]\nmemory = 1Gi\ninherit = code", "line 3: inherit"),
        ("[profile a]\ninherit = b\n[profile b]\ncpu = 1", "inherit 'b'"),
        ("[profile a]\nstrict = maybe", "strict 'maybe': must be yes or no"),
        ("[profile A]\nstrict = no", "profile 'A'"),
        ("[profile a]\nbadkey = 1", "badkey"),
        ("[profile a]\ntimeout = 5s", "timeout"),
        ("[profile a]\ncpu = 1\n cpu = 2", "line 3: the same key again"),
        ("[gold]\ncpu = 1", "line 2: a key stands in section"),
    ],
)
def test_a_file_can_be_checked(daemon, tmp_path, lines, what):
    good, bad = tmp_path / "good.conf", tmp_path / "bad.conf"
    good.write_text("[profile a]\ninherit = judge\nwall = 1.5s\n")
    bad.write_text(lines + "\n")
    assert daemon.osb("profile", "check", str(good)).code == 0
    done = daemon.osb("profile", "check", str(bad))
    assert done.code != 0
    assert what in done.err and str(bad) in done.err, done


def test_an_unknown_one_is_refused(daemon):
    body = {**http_api.CREATE_BODY, "extensions": {"osb.profile": "gold"}}
    reply = daemon.api().request("POST", "/v1/sandboxes", body)
    assert reply.status == 400 and "'gold'" in reply.json()["message"]
    done = daemon.run("--profile", "gold", "--", "true")
    assert done.code == 125 and "'gold'" in done.err, done


def test_what_a_client_names_wins(daemon):
    options = ("--profile", "judge", "--memory", "48Mi", "--env", "TZ=Mars")
    done = daemon.sh("echo $TZ; cat /sys/fs/cgroup/memory.max 2>&1", *options)
    assert done.out.startswith("Mars\n"), done
    box = daemon.api().create(
        resourceLimits={"memory": "48Mi"}, extensions={"osb.profile": "judge"}
    )
    limits = box.get().json()["resourceLimits"]
    assert limits["memory"] == str(48 << 20) and limits["pids"] == "64"
    box.delete()


# --- strict: each wall, and that an ordinary sandbox hasn't got it ---------------


def test_nobody_is_root(strict, daemon):
    assert shell(strict, "id -u") == (0, b"1000\n")
    assert printed(strict, "id -u") == "1000"
    for body in ({"uid": 0}, {"uid": 5, "gid": 0}):
        refused = strict.command_stream("id", **body)
        assert refused.status == 400
        assert b"nobody in it is root" in refused.raw()
    assert "strict" in strict.run("id", user="root").verdict["message"]
    assert daemon.sh("id -u", "--user", "root").out == "0\n"


def test_nothing_runs_from_where_it_can_write(strict, daemon):
    script = "cp /bin/true {0}/t && chmod +x {0}/t && {0}/t"
    for place in ("/workspace", "/tmp", "/var/tmp", "/dev/shm", "/home/sandbox"):
        code, said = shell(strict, script.format(place))
        assert code == 126 and b"Permission denied" in said, (place, said)
    memfd = (
        "import os; fd = os.memfd_create('x'); "
        "os.write(fd, open('/bin/true', 'rb').read()); os.execve(fd, ['x'], {})"
    )
    ended = strict.run("/usr/bin/python3", "-c", memfd)
    assert ended.verdict["exit_code"] == 1 and b"PermissionError" in ended.stderr
    for place in ("/workspace", "/tmp"):
        assert daemon.sh(script.format(place)).code == 0
    assert daemon.run("--", "/usr/bin/python3", "-c", memfd).code == 0


def test_the_rest_of_its_root_is_read_only(strict):
    code, said = shell(strict, "touch /etc/x /usr/x /x 2>&1 | grep -c Read-only")
    assert code == 0 and said == b"3\n", said


def test_a_volume_makes_no_hole(service, folder):
    daemon = service("--private", config=f"volume_root = {folder}\n")
    tool = pathlib.Path(folder) / "tool"
    tool.write_bytes(b"#!/bin/sh\necho ran\n")
    tool.chmod(0o755)
    volume = ("--volume", f"{folder}:/data")
    assert daemon.run(*volume, "--", "/data/tool").out == "ran\n"
    done = daemon.run("--profile", "strict", *volume, "--", "/data/tool")
    assert done.code == 126, done


def test_it_calls_less(strict, daemon):
    script = (
        "import ctypes, sys; libc = ctypes.CDLL(None, use_errno=True)\n"
        "for nr in map(int, sys.argv[1:]):\n"
        "    libc.syscall(nr, -1, -1, -1, -1)\n"
        "    print(ctypes.get_errno() == 1)\n"
    )
    # kcmp, vmsplice, msgget, remap_file_pages: EPERM by nobody but the filter
    calls = ("312", "278", "68", "216")
    ended = strict.run("/usr/bin/python3", "-c", script, *calls)
    assert ended.stdout.split() == [b"True"] * 4, ended.stdout + ended.stderr
    done = daemon.run("--", "/usr/bin/python3", "-c", script, *calls)
    assert "False" in done.out, done


def test_programs_and_files_work_as_ever(strict):
    made = strict.upload(({"path": "/workspace/a.py"}, b"print(6 * 7)\n"))
    assert made.status == 200, made
    assert strict.download("/workspace/a.py").body == b"print(6 * 7)\n"
    ended = strict.run("/usr/bin/python3", "/workspace/a.py")
    assert ended.stdout == b"42\n"
    assert shell(strict, "echo 1 >>/workspace/a.py") == (0, b"")
    denied = strict.upload(({"path": "/etc/a"}, b""))
    assert denied.status >= 400, denied


def test_walls_outlive_the_daemon(service):
    daemon = service("--private")
    box = daemon.api().create(extensions={"osb.profile": "judge"})
    daemon.kill("osbd", "broker")
    daemon.restart()
    assert box.command_stream("id", uid=0).status == 400
    assert printed(box, "id -u") == "1000"
    assert box.run("false").verdict["contest"] == "RE"


def test_pools_keep_them_apart(service):
    daemon = service("--private", osbd_config="pool_min = 2\npool_max = 4\n")
    for profile in ("code", "strict") * 4:
        box = daemon.api().create(extensions={"osb.profile": profile})
        user = box.run("id", "-u", user="1000")
        assert user.stdout == b"1000\n"
        made = box.run("sh", "-c", "cp /bin/true t && ./t")
        assert made.verdict["exit_code"] == (126 if profile == "strict" else 0)
        box.delete()


# --- judge: the words of a contest ---------------------------------------------


@pytest.mark.parametrize(
    "program, options, word, verdict",
    [
        ("print(1)", (), "OK", "exited"),
        ("exit(3)", (), "RE", "exited"),
        ("import os; os.kill(os.getpid(), 11)", (), "RE", "signaled"),
        ("while True: pass", ("--cpu-time", "300ms"), "TLE", "cpu_timeout"),
        ("import time; time.sleep(9)", ("--timeout", "300ms"), "TLE",
         "wall_timeout"),
        ("x = bytearray(1 << 30)", ("--memory", "32Mi"), "MLE", "oom"),
        ("while True: print('x' * 9999)", ("--output-max", "64Ki"), "OLE",
         "output_limit"),
    ],
)  # fmt: skip
def test_the_verdict_is_a_word(daemon, program, options, word, verdict):
    done = daemon.run("--profile", "judge", "--json", *options, "--",
                      "/usr/bin/python3", "-c", program)  # fmt: skip
    report = done.json()
    assert (report["contest"], report["verdict"]) == (word, verdict), report


def test_others_have_no_word(daemon):
    assert "contest" not in daemon.run("--json", "--", "true").json()


def test_hashes_are_the_same_each_time(daemon):
    run = ("--profile", "judge", "--", "/usr/bin/python3", "-c", "print(hash('a'))")
    assert daemon.run(*run).out == daemon.run(*run).out
