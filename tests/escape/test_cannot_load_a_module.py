# SPDX-License-Identifier: Apache-2.0
"""Root inside cannot reach the module loader."""

import pytest

import attack

# Garbage gets as far as ENOEXEC when the caller may load modules at all.
ATTACK = """
fd = os.memfd_create("module") if hasattr(os, "memfd_create") else -1
os.write(fd, b"not a module" * 100)
syscall(313, fd, b"", 0)
number = ctypes.get_errno()
if number in (errno.EPERM, errno.EACCES):
    refused("finit_module: EPERM")
if number == errno.ENOSYS and sys.argv[1] == "inside":
    refused("finit_module: ENOSYS")
worked(errno.errorcode[number])
"""

DELETE = """
syscall(176, b"osb-test-no-such-module", 0)
number = ctypes.get_errno()
if number in (errno.EPERM, errno.EACCES) or sys.argv[1] == "inside":
    refused(errno.errorcode[number])
worked(errno.errorcode[number])
"""


@pytest.mark.parametrize("source", [ATTACK, DELETE], ids=["load", "unload"])
def test_module(daemon, source):
    got = attack.inside(daemon, source, ["inside"])
    assert got.refused, got
    control = attack.outside(source, ["outside"])
    assert control.worked, control
    if "ENOSYS" in control.text:
        # No module loader: but inside it is the filter that refuses.
        assert "EPERM" in got.text, got
    else:
        assert "ENOEXEC" in control.text or "ENOENT" in control.text, control
