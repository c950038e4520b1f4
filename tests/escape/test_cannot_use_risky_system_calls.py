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
    refused("kexec_file_load")
""",
    "open_by_handle_at": """
class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int),
                ("data", ctypes.c_ubyte * 8)]
handle = Handle(8, 1)
syscall(304, -100, ctypes.byref(handle), 0)
if ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
    refused("open_by_handle_at")
""",
    "chroot": "attempt(os.chroot, '/tmp')",
    "swapon": """
syscall(167, b"/nothing-here", 0)
if ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
    refused("swapon")
""",
    "acct": "check(syscall(163, None), 'acct')",
    "quotactl": """
syscall(179, 0x80000100, None, 0, None)
if ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
    refused("quotactl")
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
    "vsock": "attempt(socket.socket, 40, socket.SOCK_STREAM, 0)",
    "af_alg": "attempt(socket.socket, 38, socket.SOCK_SEQPACKET, 0)",
    "af_key": "attempt(socket.socket, 15, socket.SOCK_RAW, 2)",
    "tipc": "attempt(socket.socket, 30, socket.SOCK_STREAM, 0)",
}

# Refused by many kernels for everybody: without these the host shows nothing.
MAY_BE_MISSING = {
    "af_key", "tipc", "vsock", "af_alg", "iopl", "lookup_dcookie", "acct",
    "kexec", "io_uring", "userfaultfd", "bpf", "perf_event_open",
    "keyctl", "add_key", "request_key", "swapon", "quotactl", "fanotify",
}  # fmt: skip

# Each changes something that only its own namespaces may feel.
OUTSIDE = ["--mount", "--uts", "--ipc", "--net"]


@pytest.mark.parametrize("name", CALLS)
def test_call(daemon, name):
    source = CALLS[name] + "\nworked()\n"
    for user in ("root", "sandbox"):
        got = attack.inside(daemon, source, user=user)
        assert got.refused, (user, got)
    control = attack.outside(source, unshare=OUTSIDE)
    if control.refused and name in MAY_BE_MISSING:
        pytest.skip(f"this host has no {name}: {control.text.strip()}")
    assert control.worked, control
