# SPDX-License-Identifier: Apache-2.0
"""osb ps lists this user's sandboxes, osb rm ends them."""


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
