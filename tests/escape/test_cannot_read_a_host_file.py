# SPDX-License-Identifier: Apache-2.0
"""No path leads to a file of the host: not by links, /proc or handles."""

import os

import pytest

import attack

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
