# SPDX-License-Identifier: Apache-2.0
"""Root inside cannot set the clock. The attack sets it to what it is."""

import attack

# struct timex of x86-64 and arm64: modes, then longs; tick is the 11th long.
ATTACK = """
ADJ_TICK, CLOCK_REALTIME = 0x4000, 0
timex = ctypes.create_string_buffer(256)
check(libc.clock_adjtime(CLOCK_REALTIME, timex), "read the clock")
tick = struct.unpack_from("l", timex, 88)[0]
if not 8000 < tick < 12000:
    sys.exit("unexpected layout: tick %d" % tick)
struct.pack_into("I", timex, 0, ADJ_TICK)
check(libc.clock_adjtime(CLOCK_REALTIME, timex), "clock_adjtime")
worked("tick set to %d as it was" % tick)
"""


def test_clock(daemon):
    control = attack.outside(ATTACK)
    assert control.worked, control
    got = attack.inside(daemon, ATTACK)
    assert got.refused, got
