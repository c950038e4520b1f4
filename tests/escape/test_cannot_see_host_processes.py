# SPDX-License-Identifier: Apache-2.0
"""A process of the host can be neither seen nor signalled."""

import subprocess

import pytest

import attack

SEE = """
marker = sys.argv[1].encode()
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        try:
            if marker in open("/proc/%s/cmdline" % name, "rb").read():
                worked(name)
        except OSError:
            pass
refused("not among %d" % len([n for n in os.listdir("/proc") if n.isdigit()]))
"""

SIGNAL = """
attempt(os.kill, int(sys.argv[1]), 0)
worked()
"""


@pytest.fixture
def victim():
    process = subprocess.Popen(["sleep", "300.0777"])
    yield process
    process.kill()
    process.wait()


def test_see(daemon, victim):
    # In the sandbox's own arguments the marker stands too: cut in two there.
    source = SEE.replace("sys.argv[1]", '(sys.argv[1] + "777")')
    assert attack.outside(source, ["300.0"]).worked
    got = attack.inside(daemon, source, ["300.0"])
    assert got.refused, got


def test_signal(daemon, victim):
    assert attack.outside(SIGNAL, [victim.pid]).worked
    got = attack.inside(daemon, SIGNAL, [victim.pid])
    assert got.refused or victim.pid < 10, got
    assert victim.poll() is None
