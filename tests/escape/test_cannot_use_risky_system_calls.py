# SPDX-License-Identifier: Apache-2.0
"""Kernel interfaces with a history: refused before they run."""

import pytest

import attack

CALLS = {
    "add_key": "check(syscall(248, b'user', b'osb-test', b'x', 1, -2), 'add_key')",
    "keyctl": "check(syscall(250, 0, -2, 1), 'keyctl')",
    "request_key": """
syscall(249, b'user', b'osb-test-none', None, 0)
number = ctypes.get_errno()
if number not in (errno.ENOKEY, errno.ENOENT):
    refused(errno.errorcode[number])
""",
    "bpf": """
attribute = ctypes.create_string_buffer(struct.pack("IIII", 2, 4, 4, 1), 128)
check(syscall(321, 0, attribute, 128), 'bpf')
""",
    "perf_event_open": """
attribute = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 0), 112)
check(syscall(298, attribute, 0, -1, -1, 0), 'perf_event_open')
""",
    "io_uring": """
parameters = ctypes.create_string_buffer(120)
check(syscall(425, 4, parameters), 'io_uring_setup')
""",
    "userfaultfd": "check(syscall(323, 1), 'userfaultfd')",
    "kexec": """
syscall(320, -1, -1, 0, None, 0)
if ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
    refused(errno.errorcode[ctypes.get_errno()])
""",
    "open_by_handle_at": """
class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int),
                ("data", ctypes.c_ubyte * 8)]
handle = Handle(8, 1)
syscall(304, -100, ctypes.byref(handle), 0)
if ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
    refused(errno.errorcode[ctypes.get_errno()])
""",
    "chroot": "attempt(os.chroot, '/tmp')",
    "swapon": """
syscall(167, b"/nothing-here", 0)
if ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
    refused(errno.errorcode[ctypes.get_errno()])
""",
    "acct": "check(syscall(163, None), 'acct')",
    "quotactl": """
syscall(179, 0x80000100, None, 0, None)
if ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
    refused(errno.errorcode[ctypes.get_errno()])
""",
    "setns": """
fd = os.open("/proc/self/ns/uts", os.O_RDONLY)
check(libc.setns(fd, 0), 'setns')
""",
    "unshare mount": "check(libc.unshare(0x00020000), 'unshare')",
    "unshare net": "check(libc.unshare(0x40000000), 'unshare')",
    "unshare pid": "check(libc.unshare(0x20000000), 'unshare')",
    "unshare cgroup": "check(libc.unshare(0x02000000), 'unshare')",
    "iopl": "check(libc.iopl(3), 'iopl')",
    "syslog": "check(libc.klogctl(10, None, 0), 'syslog')",
    "fanotify": "check(syscall(300, 0, 0), 'fanotify_init')",
    "lookup_dcookie": "check(syscall(212, 0, None, 0), 'lookup_dcookie')",
}

# What a kernel needn't have. Then the control is another answer than inside:
# there the filter refuses, before the kernel can say that it has none.
NOT_IN_THIS_KERNEL = "ENOSYS"

# A socket's type that doesn't exist: a kernel without the family doesn't get
# as far as missing it.
FAMILIES = {"vsock": 40, "af_alg": 38, "af_key": 15, "tipc": 30, "packet": 17,
            "bluetooth": 31, "can": 29, "rds": 21, "xdp": 44}  # fmt: skip
NO_TYPE = """
attempt(socket.socket, %d, 15, 0)
"""

# Each changes something that only its own namespaces may feel.
OUTSIDE = ["--mount", "--uts", "--ipc", "--net"]


@pytest.mark.parametrize("name", CALLS)
def test_call(daemon, name):
    source = CALLS[name] + "\nworked()\n"
    control = attack.outside(source, unshare=OUTSIDE)
    for user in ("root", "sandbox"):
        got = attack.inside(daemon, source, user=user)
        assert got.refused, (user, got)
        if control.refused:
            assert NOT_IN_THIS_KERNEL in control.text, control
            assert NOT_IN_THIS_KERNEL not in got.text, got


@pytest.mark.parametrize("name", FAMILIES)
def test_socket_family(daemon, name):
    source = NO_TYPE % FAMILIES[name] + "\nworked()\n"
    control = attack.outside(source, unshare=OUTSIDE)
    assert "Invalid argument" in control.text, control
    for user in ("root", "sandbox"):
        got = attack.inside(daemon, source, user=user)
        assert "not supported by protocol" in got.text, (user, got)
