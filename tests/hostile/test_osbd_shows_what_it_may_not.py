# SPDX-License-Identifier: Apache-2.0
"""An osbd that was taken over asks for host paths as volumes."""

import os
import pathlib
import shutil

import pytest

import hostile

ID = b"0123456789abcdef0123456789abcdef"


@pytest.fixture
def secret():
    """A host folder that no allow-list names."""
    path = pathlib.Path("/var/tmp") / f"osb-test-secret-{os.getpid()}"
    path.mkdir(mode=0o755)
    (path / "shadow").write_text("root:*:\n")
    yield path
    shutil.rmtree(path)


@pytest.fixture
def root(folder):
    """A folder for volumes, with ways out of it."""
    path = pathlib.Path(folder)
    (path / "data").mkdir()
    return path


def ask(osbd, source, target=b"/v", **more):
    return osbd.ask(
        "create", id=ID, v0_source=os.fsencode(source), v0_target=target,
        v0_flags=1, **more,
    )  # fmt: skip


def inside(service, path):
    (init,) = service.inits()
    return pathlib.Path(f"/proc/{init}/root{path}")


def ways_to(root, secret):
    """Names for one host folder that an allow-list doesn't hold."""
    (root / "link").symlink_to(secret)
    (root / "up").symlink_to("..")
    to = secret.relative_to("/")
    yield secret
    yield f"{root}/link"
    yield f"{root}/../{secret.name}"
    yield f"{root}/up/{secret.name}"
    for pid in ("self", "1", "thread-self"):
        yield f"/proc/{pid}/root/{to}"
        yield f"/proc/{pid}/cwd/{to}"
    yield f"//{to}"
    yield f"/./{to}/."
    yield str(to)
    yield f"../../{to}"
    yield ""
    yield "/"
    yield "/proc/1/root"


def what_it_holds(service):
    """Mounts, cgroups, directories: whatever the broker has open."""
    for number in range(service.fds() + 8):
        for below in ("", "/..", "/workspace", "/s", "/m", "/image"):
            yield f"/proc/1/fd/{number}{below}"


def test_only_what_lies_below_a_root_is_shown(taken_over, root, secret):
    service, osbd = taken_over(config=f"volume_root = {root}\n")
    with hostile.unharmed(service):
        for way in [*ways_to(root, secret), *what_it_holds(service)]:
            answer = ask(osbd, way)
            assert answer.refused, f"{way}: {answer}"
            assert "shadow" not in answer.text
        assert service.inits() == []
        osbd.works()
    assert ask(osbd, root / "data").good
    assert os.listdir(inside(service, "/v")) == []


def test_a_private_broker_shows_no_secret_of_the_host(taken_over, root):
    service, osbd = taken_over("--private")
    with hostile.unharmed(service):
        for path in ("/etc", "/root/.ssh", "/run", "/proc", "/sys", "/dev",
                     "/boot", "/home", "/var/lib", "/var", service.home,
                     service.run_dir / "s", service.run_dir / "m"):  # fmt: skip
            for way in ways_to(root, pathlib.Path(path)):
                answer = ask(osbd, way)
                assert answer.refused, f"{way}: {answer}"
            (root / "link").unlink()
            (root / "up").unlink()
        for way in what_it_holds(service):
            answer = ask(osbd, way)
            assert answer.refused, f"{way}: {answer}"
        osbd.works()


def test_without_the_policy_a_secret_is_seen_inside(taken_over, root, secret):
    for way in (secret, f"/proc/1/root{secret}"):
        service, osbd = taken_over(config=f"volume_root = {root}\n",
                                   lax="volume")  # fmt: skip
        assert ask(osbd, way).good
        assert inside(service, "/v/shadow").exists()


def test_a_run_directory_behind_a_link_is_not_shown(nothing_left):
    """The policy knows it by its real name, whatever it was started with."""
    real = hostile.Service("--private", take={"osbd": hostile.HOSTILE / "osbd"})
    real.link_run_dir = True
    try:
        real.start()
        osbd = hostile.Osbd(real)
        assert osbd.hello().good
        for below in ("", "/s", "/m", "/m/image"):
            answer = ask(osbd, f"{real.run_dir.resolve()}{below}")
            assert answer.refused, f"{below}: {answer}"
        osbd.close()
    finally:
        real.stop()


def test_fields_of_a_volume_are_checked(taken_over, root):
    service, osbd = taken_over(config=f"volume_root = {root}\n")
    data = os.fsencode(root / "data")
    with hostile.unharmed(service):
        for changes in (
            {"v0_flags": 2},
            {"v0_flags": 2**32 - 1},
            {"v0_reserved": 1},
            {"v0_source": b"/" * 1024},
            {"v0_source": data + b"\0/etc"},
            {"v0_source": b"\0" + data},
            {"v0_target": b"/" + b"v" * 1023},
            {"v0_target": b"/v\0/../etc"},
            {"v0_target": b""},
            {"volumes": 2},
            {"volumes": 9},
        ):
            request = {"id": ID, "v0_source": data, "v0_target": b"/v"}
            answer = osbd.ask("create", **{**request, **changes})
            assert answer.refused, f"{changes}: {answer}"
        osbd.works()


WALLS = [b"/", b"/proc", b"/proc/sys", b"/sys", b"/dev", b"/dev/shm", b"/usr",
         b"/usr/bin", b"/etc", b"/etc/passwd", b"/bin", b"/sbin", b"/lib",
         b"/lib64", b"/opt"]  # fmt: skip
TWISTED = [b"/v/..", b"/v/../etc", b"/./proc", b"/v/./x", b"//proc", b"/v//x",
           b"/v/", b"v", b"./v", b"../v", b"/..", b"/v/../../proc"]  # fmt: skip


def test_nothing_is_mounted_over_a_wall(taken_over, root):
    service, osbd = taken_over(config=f"volume_root = {root}\n")
    with hostile.unharmed(service):
        for target in WALLS + TWISTED:
            answer = ask(osbd, root / "data", target)
            assert answer.refused, f"{target}: {answer}"
        osbd.works()


def test_something_would_be_mounted_over_a_wall(taken_over, root):
    service, osbd = taken_over(config=f"volume_root = {root}\n", lax="spec")
    (root / "data/self").mkdir()
    assert ask(osbd, root / "data", b"/etc").good
    assert os.listdir(inside(service, "/etc")) == ["self"]


def test_a_link_in_a_volume_leads_no_other_one_over_a_wall(taken_over, root):
    service, osbd = taken_over(config=f"volume_root = {root}\n")
    data = root / "data"
    (data / "x").symlink_to("/proc")
    (data / "y").symlink_to("../../../../../proc")
    with hostile.unharmed(service):
        for way in (b"/v/x", b"/v/y", b"/v/x/sys"):
            answer = ask(osbd, data, v1_source=os.fsencode(data), v1_target=way)
            assert answer.refused, f"{way}: {answer}"
        osbd.works()


def test_the_same_target_twice_and_nested_ones_stay_inside(taken_over, root):
    service, osbd = taken_over(config=f"volume_root = {root}\n")
    data = root / "data"
    (data / "in").mkdir()
    for second in (b"/v", b"/v/in"):
        with hostile.unharmed(service):
            answer = ask(osbd, data, v1_source=os.fsencode(data),
                         v1_target=second, v1_flags=1)  # fmt: skip
            if answer.good:
                assert os.listdir(inside(service, "/v")) == ["in"]
                assert osbd.ask("destroy", id=ID).good
            else:
                assert answer.refused, answer
            osbd.works()
    assert os.listdir(data) == ["in"]
