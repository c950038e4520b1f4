# SPDX-License-Identifier: Apache-2.0
"""No file of /proc/sys or /sys opens for writing, whoever asks."""

import pytest

import attack

# Opening is the check; nothing is written.
ATTACK = """
opened = []
for folder, names, files in os.walk(sys.argv[1]):
    for name in files:
        path = os.path.join(folder, name)
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            opened.append(path)
        except OSError:
            pass
if opened:
    worked("%d: %s" % (len(opened), " ".join(opened[:10])))
refused("none opens")
"""


@pytest.mark.parametrize("user", ["root", "sandbox"])
def test_proc_sys(daemon, user):
    assert attack.outside(ATTACK, ["/proc/sys/kernel"]).worked
    got = attack.inside(daemon, ATTACK, ["/proc/sys"], user=user)
    assert got.refused, got


@pytest.mark.parametrize("user", ["root", "sandbox"])
def test_sys(daemon, user):
    assert attack.outside(ATTACK, ["/sys/kernel"]).worked
    got = attack.inside(daemon, ATTACK, ["/sys"], user=user)
    assert got.refused, got


DANGEROUS = """
found = []
for path, flags in [
    ("/proc/sysrq-trigger", os.O_WRONLY), ("/proc/kcore", os.O_RDONLY),
    ("/proc/kmsg", os.O_RDONLY), ("/proc/timer_list", os.O_RDONLY),
    ("/proc/sched_debug", os.O_RDONLY), ("/proc/keys", os.O_RDONLY),
    ("/proc/latency_stats", os.O_RDONLY), ("/proc/kpagecount", os.O_RDONLY),
    ("/proc/sys/kernel/core_pattern", os.O_WRONLY),
]:
    try:
        fd = os.open(path, flags | os.O_NONBLOCK)
        data = b"?" if flags == os.O_WRONLY else os.read(fd, 10)
        os.close(fd)
        if data:
            found.append(path)
    except OSError:
        pass
if found:
    worked(" ".join(found))
refused("none")
"""


def test_dangerous_files_of_proc_are_masked(daemon):
    assert attack.outside(DANGEROUS).worked
    got = attack.inside(daemon, DANGEROUS)
    assert got.refused, got
