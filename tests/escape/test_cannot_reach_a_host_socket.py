# SPDX-License-Identifier: Apache-2.0
"""Nothing that listens on the host can be reached: unix, abstract, TCP."""

import socket

import pytest

import attack

ABSTRACT = """
sock = socket.socket(socket.AF_UNIX)
attempt(sock.connect, "\\0" + sys.argv[1])
worked()
"""

PATH = """
sock = socket.socket(socket.AF_UNIX)
attempt(sock.connect, sys.argv[1])
worked()
"""

TCP = """
family = getattr(socket, sys.argv[1])
sock = attempt(socket.socket, family)
sock.settimeout(3)
attempt(sock.connect, (sys.argv[2], int(sys.argv[3])))
worked()
"""

NETLINK_NAMES = """
names = [name for _, name in socket.if_nameindex()]
if names != ["lo"]:
    worked(str(names))
refused("lo only")
"""


@pytest.fixture
def listener():
    made = []

    def listen(family, address):
        sock = socket.socket(family)
        sock.bind(address)
        sock.listen(8)
        made.append(sock)
        return sock

    yield listen
    for sock in made:
        sock.close()


@pytest.mark.parametrize("user", ["root", "sandbox"])
def test_abstract(daemon, listener, user):
    listener(socket.AF_UNIX, "\0osb-test-abstract")
    assert attack.outside(ABSTRACT, ["osb-test-abstract"]).worked
    got = attack.inside(daemon, ABSTRACT, ["osb-test-abstract"], user=user)
    assert got.refused, got


def test_the_daemons_own_socket(daemon):
    assert attack.outside(PATH, [daemon.socket]).worked
    got = attack.inside(daemon, PATH, [daemon.socket])
    assert got.refused, got


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
def test_loopback(daemon, listener, address):
    port = listener(socket.AF_INET, (address, 0)).getsockname()[1]
    assert attack.outside(TCP, ["AF_INET", address, port]).worked
    got = attack.inside(daemon, TCP, ["AF_INET", address, port])
    assert got.refused, got


def test_loopback_ipv6(daemon, listener):
    try:
        sock = listener(socket.AF_INET6, ("::1", 0))
    except OSError as error:
        pytest.skip(f"this host has no ::1: {error}")
    args = ["AF_INET6", "::1", sock.getsockname()[1]]
    assert attack.outside(TCP, args).worked
    got = attack.inside(daemon, TCP, args)
    assert got.refused, got
