# SPDX-License-Identifier: Apache-2.0
"""What waits in sockets is memory, and counts: on v1 by a limit of its own,
without which TCP and UDP could take gigabytes, and all that the host has."""

import pytest

import attack

MIB = 1 << 20

ATTACK = """
enough, kind = int(sys.argv[1]), sys.argv[2]
def pair():
    if kind == "unix":
        return socket.socketpair()
    how = socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, how) as one:
        other = socket.socket(socket.AF_INET, how)
        one.bind(("127.0.0.1", 0))
        if kind == "udp":
            other.connect(one.getsockname())
            return other, one.dup()
        one.listen()
        other.connect(one.getsockname())
        return other, one.accept()[0]
kept, sent = [], 0
for _ in range(450):
    kept += pair()
    kept[-2].setblocking(False)
    kept[-2].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    kept[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    for _ in range(500):
        # What UDP finds no room for it drops: only what is in the way counts.
        try:
            sent += kept[-2].send(b"x" * 16000)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ENOBUFS):
                raise
            break
    memory = [line.split() for line in open("/proc/net/sockstat")]
    held = sum(int(line[line.index("mem") + 1]) for line in memory
               if "mem" in line) * 4096
    if kind == "unix":
        held = sent
    if held > enough:
        worked("%d MiB" % (held >> 20))
refused("%d MiB" % (held >> 20))
"""


@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_network(daemon, kind):
    """Counted by what the kernel says is in all sockets of the host; the
    limit leaves an eighth of 64 MiB, beside what others hold meanwhile."""
    args = [64 * MIB, kind]
    prepare = "subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)\n"
    control = attack.outside(prepare + ATTACK, args, unshare=["--net"])
    assert control.worked, control
    got = attack.inside(daemon, ATTACK, args, options=["--memory", "64Mi"])
    assert got.refused, got


def test_unix(daemon):
    """Charged to the sandbox as any memory is: its end, not the host's."""
    args = [80 * MIB, "unix"]
    assert attack.outside(ATTACK, args).worked
    done = daemon.python(
        attack.PRELUDE + ATTACK, "--memory", "64Mi", args=args
    )
    assert done.code == 137, done
