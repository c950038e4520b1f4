# SPDX-License-Identifier: Apache-2.0
"""Root inside can't trace, read or kill the sandbox's pid 1."""

import pytest

import attack

PTRACE = """
PTRACE_ATTACH, PTRACE_DETACH = 16, 17
check(libc.ptrace(PTRACE_ATTACH, 1, None, None), "ptrace")
os.waitpid(1, 0x40000000)
libc.ptrace(PTRACE_DETACH, 1, None, None)
worked()
"""

SEIZE = """
PTRACE_SEIZE = 0x4206
check(libc.ptrace(PTRACE_SEIZE, 1, None, None), "ptrace")
worked()
"""

READ = """
found = []
for name in ("environ", "maps", "mem", "auxv", "syscall", "stack"):
    try:
        open("/proc/1/" + name, "rb").read(1)
        found.append(name)
    except OSError as error:
        if name == "mem" and error.errno == errno.EIO:
            found.append(name)  # opened; address 0 isn't mapped
for name in ("root", "cwd", "exe"):
    try:
        os.readlink("/proc/1/" + name)
        found.append(name)
    except OSError:
        pass
try:
    os.listdir("/proc/1/fd") and found.append("fd")
except OSError:
    pass
if found:
    worked(" ".join(found))
refused("nothing readable")
"""

PIDFD_GETFD = """
pidfd = check(syscall(434, 1, 0), "pidfd_open")
check(syscall(438, pidfd, 0, 0), "pidfd_getfd")
worked()
"""

VM_READ = """
buffer = ctypes.create_string_buffer(8)
class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
local = Iovec(ctypes.addressof(buffer), 8)
remote = Iovec(int(sys.argv[1]), 8) if len(sys.argv) > 1 else Iovec(4096, 8)
result = libc.process_vm_readv(1, ctypes.byref(local), 1,
                               ctypes.byref(remote), 1, 0)
number = ctypes.get_errno()
if result < 0 and number != errno.EFAULT:  # EFAULT: admitted, bad address
    refused(errno.errorcode[number])
worked()
"""

# The control's pid 1 is a shell, the attack its child.
OUTSIDE = ["--pid", "--mount-proc"]


def control(source):
    return attack.outside(
        "child = os.fork()\n"
        "if child:\n"
        "    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        + source,
        unshare=OUTSIDE,
    )


@pytest.mark.parametrize("user", ["root", "sandbox"])
@pytest.mark.parametrize(
    "source",
    [SEIZE, READ, PIDFD_GETFD, VM_READ],
    ids=["ptrace", "proc", "pidfd_getfd", "process_vm_readv"],
)
def test_init(daemon, source, user):
    assert control(source).worked
    got = attack.inside(daemon, source, user=user)
    assert got.refused, got


def test_kill(daemon):
    """No signal ends it: the sandbox serves the next exec."""
    box = daemon.api().create()
    script = "for s in $(seq 1 64); do kill -$s 1; done 2>/dev/null; echo sent"
    assert box.run("bash", "-c", script, user="root").stdout == b"sent\n"
    assert box.run("echo", "alive").stdout == b"alive\n"
    assert box.run("sh", "-c", "kill -9 $$").verdict["verdict"] == "signaled"
    box.delete()
