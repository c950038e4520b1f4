# SPDX-License-Identifier: Apache-2.0
"""No path leads to a file of the host: not by links, /proc or handles."""

import os
import subprocess

import pytest

import attack
import osb

ATTACK = """
secret = sys.argv[1]
for prefix in ("", "/proc/1/root", "/proc/self/root", "/proc/1/cwd",
               "/proc/self/cwd/../../../..", "/../../../..",
               "/proc/1/fd/0", "/proc/1/task/1/root", "/dev/fd/../../root"):
    try:
        text = open(prefix + secret).read()
        worked("%s: %s" % (prefix, text))
    except OSError:
        pass
refused("no way")
"""

LINK = """
os.chdir(sys.argv[2])
os.symlink(sys.argv[1], "osb-test-link")
worked(attempt(open, "osb-test-link").read())
"""

HANDLE = """
class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int),
                ("data", ctypes.c_ubyte * 128)]
handle, mount_id = Handle(128), ctypes.c_int()
folder = attempt(os.open, sys.argv[1], os.O_RDONLY)
check(libc.name_to_handle_at(folder, b".", ctypes.byref(handle),
                             ctypes.byref(mount_id), 0), "name_to_handle_at")
check(libc.open_by_handle_at(folder, ctypes.byref(handle), os.O_RDONLY),
      "open_by_handle_at")
worked()
"""


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_text("of the host")
    for folder in [path, *path.parents][:-2]:
        os.chmod(folder, os.stat(folder).st_mode | 0o055)
    return path


@pytest.mark.parametrize("user", ["root", "sandbox"])
def test_by_path(daemon, secret, user):
    assert attack.outside(ATTACK, [secret]).worked
    got = attack.inside(daemon, ATTACK, [secret], user=user)
    assert got.refused, got


def test_by_symlink(daemon, secret, tmp_path):
    assert attack.outside(LINK, [secret, tmp_path]).worked
    got = attack.inside(daemon, LINK, [secret, "/workspace"])
    assert got.refused, got


def test_by_handle(daemon):
    control = attack.outside(HANDLE, ["/usr"])
    if control.refused:
        pytest.skip(f"this host's filesystem has no handles: {control}")
    got = attack.inside(daemon, HANDLE, ["/usr"])
    assert got.refused, got


# A name of one's own for a file of the image, to write to it by that.
HARDLINK = """
attempt(os.link, sys.argv[1], sys.argv[2] + "/osb-test-link")
with attempt(open, sys.argv[2] + "/osb-test-link", "r+b") as file:
    file.write(file.read(1))
worked()
"""


@pytest.mark.parametrize("target", ["/usr/bin/env", "/etc/passwd"])
def test_by_hardlink(daemon, target):
    """What can be linked, as /etc is of the sandbox's own, isn't the host's."""
    prepare = (
        "check(libc.mount(b'none', b'/mnt', b'tmpfs', 0, None), 'mount')\n"
        "open('/mnt/env', 'w').write('x')\n"
    )
    control = attack.outside(
        prepare + HARDLINK, ["/mnt/env", "/mnt"], unshare=["--mount"]
    )
    assert control.worked, control
    before = os.stat(target)
    got = attack.inside(daemon, HARDLINK, [target, "/workspace"])
    assert got.refused or target.startswith("/etc/"), got
    after = os.stat(target)
    assert (after.st_nlink, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_nlink, before.st_mtime_ns, before.st_ctime_ns)  # fmt: skip


# From every descriptor, and from where one is: what somebody left open.
LEFT_OPEN = """
found = []
for fd in range(1024):
    for way in (".", "..", "../..", "../../..", "../../../.."):
        try:
            os.close(os.open(way + sys.argv[1], os.O_RDONLY, dir_fd=fd))
            found.append("%d/%s" % (fd, way))
        except OSError:
            pass
for way in ("", ".", "..", "../..", "/proc/self/cwd", "/proc/1/cwd",
            "/proc/self/cwd/..", "/proc/self/cwd/../.."):
    try:
        open(way + "/" + sys.argv[2]) and found.append(way)
    except OSError:
        pass
worked(" ".join(found)) if found else refused("from nowhere")
"""

# Becomes a program that has a directory of the host's as its own, and as 30.
LEAVE_OPEN = """
import os, sys
os.chdir(sys.argv[1])
os.dup2(os.open(".", os.O_RDONLY), 30)
os.dup2(os.open("..", os.O_RDONLY), 31)
os.execvp(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.parametrize("who", ["client", "broker"])
def test_by_what_was_left_open(daemon, service, secret, tmp_path, who):
    """By who starts our processes: none of it comes through."""
    leave = [osb.PYTHON, "-c", LEAVE_OPEN, str(tmp_path)]
    args = [str(secret), secret.name]
    plain = [osb.PYTHON, "-c", attack.PRELUDE + LEFT_OPEN, *args]
    control = subprocess.run([*leave, *plain], capture_output=True, text=True)
    assert control.returncode == 0 and "30/" in control.stdout, control
    if who == "broker":
        daemon = service("--private", wrapper=leave)
    run = [str(osb.BUILD / "osb"), "run", "--user", "root", "--", *plain]
    done = subprocess.run(
        [*leave, *run] if who == "client" else run,
        capture_output=True, text=True, env=daemon.env(), close_fds=False,
    )  # fmt: skip
    assert done.returncode == attack.REFUSED, done


@pytest.mark.parametrize("user", ["root", "sandbox"])
def test_shadow(daemon, user):
    source = "worked(attempt(open, '/etc/shadow').read())"
    assert attack.outside(source).worked
    got = attack.inside(daemon, source, user=user)
    assert got.refused, got


def test_by_copy_of_a_symlinks_target_only_what_the_caller_named(daemon, secret):
    """--copy reads as the caller does; the sandbox has no say in it."""
    done = daemon.run("--copy", f"{secret}:/workspace/x", "--", "cat", "x")
    assert done.out == "of the host"
