# SPDX-License-Identifier: Apache-2.0
"""osb ps lists this user's sandboxes, osb renew and osb rm end them."""

import datetime
import json
import time


def test_ps_lists_and_rm_removes(daemon):
    box = daemon.api().create(metadata={"who": "test"})
    done = daemon.osb("ps")
    assert done.code == 0, done
    assert box.id in done.out
    done = daemon.osb("rm", box.id)
    assert done.code == 0, done
    assert box.id not in daemon.osb("ps").out
    assert box.get().status == 404


def test_rm_takes_several(daemon):
    boxes = [daemon.api().create() for _ in range(3)]
    assert daemon.osb("rm", *[box.id for box in boxes]).code == 0
    assert daemon.api().ids() == []


def test_rm_of_an_unknown_one_says_so(daemon):
    done = daemon.osb("rm", "0" * 32)
    assert done.code != 0
    assert "0" * 32 in done.err
    assert len(done.err.splitlines()) == 1


def test_a_run_shows_in_ps_while_it_lasts(daemon):
    import subprocess

    process = daemon.popen(
        "run", "--", "sh", "-c", "echo up; cat",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == b"up\n"
    assert len(daemon.api().ids()) == 1
    assert daemon.api().ids()[0] in daemon.osb("ps").out
    process.stdin.close()
    assert process.wait(timeout=5) == 0
    daemon.api().wait_gone(1)


def test_rm_of_a_running_one_ends_its_osb_with_137(daemon):
    import subprocess

    process = daemon.popen(
        "run", "--", "sh", "-c", "echo up; sleep 300",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == b"up\n"
    assert daemon.osb("rm", daemon.api().ids()[0]).code == 0
    out, err = process.communicate(timeout=5)
    assert process.returncode == 137, err
    assert err == b"osb: killed: the sandbox was removed\n"


def left(daemon, box):
    line = next(
        line for line in daemon.osb("ps").out.splitlines() if box.id in line
    )
    return line.split()[4]


def test_ps_shows_the_time_left_and_renew_changes_it(daemon):
    api = daemon.api()
    never, box = api.create(), api.create(timeout=600)
    assert daemon.osb("ps").out.split()[3:5] == ["AGE", "LEFT"]
    assert left(daemon, never) == "-"
    assert left(daemon, box) in ("9m", "10m")
    assert daemon.osb("renew", box.id[:8], "100s").code == 0
    assert left(daemon, box) in ("98s", "99s", "100s")
    shown = json.loads(daemon.osb("ps", "--json").out)
    assert abs(shown[0]["expires_s"] - time.time() - 100) < 5
    assert "expires_s" not in shown[1]
    tomorrow = datetime.datetime.utcnow() + datetime.timedelta(days=1, minutes=1)
    assert daemon.osb("renew", box.id, tomorrow.isoformat() + "Z").code == 0
    assert left(daemon, box) == "24h"
    assert daemon.osb("renew", box.id, "50ms").code == 0
    time.sleep(0.2)
    assert api.ids() == [never.id]
    never.delete()


def test_a_bad_renew_is_one_line(daemon):
    box = daemon.api().create()
    for args, want in [
        ((box.id,), "expected osb renew ID TIME"),
        ((box.id, "soon"), "renew 'soon': expected a positive time such as"),
        ((box.id, "5m"), "the sandbox never expires"),
        ((box.id, "2020-01-01T00:00:00Z"), "never expires"),
        (("0" * 32, "5m"), "not found"),
        (("xyz", "5m"), "renew 'xyz': expected a sandbox id"),
    ]:
        done = daemon.osb("renew", *args)
        assert done.code == 125 and want in done.err, done
        assert len(done.err.splitlines()) == 1
    box.delete()
