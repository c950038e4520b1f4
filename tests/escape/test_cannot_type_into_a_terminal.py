# SPDX-License-Identifier: Apache-2.0
"""No program puts keystrokes into a terminal for who reads it next (TIOCSTI)."""

import pytest

import attack

ATTACK = """
import fcntl, termios
master, terminal = os.openpty()
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
os.setsid()
attempt(fcntl.ioctl, terminal, termios.TIOCSCTTY, 0)
attempt(fcntl.ioctl, terminal, termios.TIOCSTI, b"x")
worked()
"""


@pytest.mark.parametrize("user", ["root", "sandbox"])
def test_keystrokes(daemon, user):
    control = attack.outside(ATTACK)
    assert control.worked, control
    got = attack.inside(daemon, ATTACK, user=user)
    assert got.refused and "ioctl" in got.text, got


# The kernel takes a command's low 32 bits only; so does the filter.
HIGH_BITS = """
import termios
master, terminal = os.openpty()
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
os.setsid()
check(syscall(16, terminal, termios.TIOCSCTTY, 0), "TIOCSCTTY")
check(syscall(16, terminal, 0x7700005412 | 1 << 40, b"x"), "ioctl")
worked()
"""


def test_keystrokes_by_a_command_with_more_bits(daemon):
    control = attack.outside(HIGH_BITS)
    assert control.worked, control
    got = attack.inside(daemon, HIGH_BITS)
    assert got.refused and "ioctl" in got.text, got
