# SPDX-License-Identifier: Apache-2.0
"""No new user namespace inside: it would bring every capability back."""

import pytest

import attack

UNSHARE = """
check(libc.unshare(0x10000000), "unshare")
worked()
"""

CLONE = """
SIGCHLD, CLONE_NEWUSER = 17, 0x10000000
pid = check(syscall(56, CLONE_NEWUSER | SIGCHLD, None, None, None, 0), "clone")
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
worked()
"""

# The flags are in memory, where a seccomp filter can't look.
CLONE3 = """
arguments = ctypes.create_string_buffer(
    struct.pack("8Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64)
pid = check(syscall(435, arguments, 64), "clone3")
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
worked()
"""


@pytest.mark.parametrize("user", ["root", "sandbox"])
@pytest.mark.parametrize(
    "source", [UNSHARE, CLONE, CLONE3], ids=["unshare", "clone", "clone3"]
)
def test_nested(daemon, source, user):
    control = attack.outside(source)
    assert control.worked, control
    got = attack.inside(daemon, source, user=user)
    assert got.refused, got


def test_threads_and_processes_still_work(daemon):
    done = daemon.python(
        "import threading, subprocess\n"
        "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
        "print(subprocess.run(['echo', 'process'], "
        "capture_output=True, text=True).stdout)"
    )
    assert done.out.split() == ["thread", "process"], done
