# SPDX-License-Identifier: Apache-2.0
"""Root inside cannot touch links, routes, addresses or rules."""

import pytest

import attack

# Netlink by hand: the image may lack ip(8) and nft(8).
LINK = """
RTM_NEWLINK, NLM_F_REQUEST, NLM_F_ACK = 16, 1, 4
sock = attempt(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 0)
IFF_UP = 1
body = struct.pack("=BxHiII", 0, 0, 1, int(sys.argv[1]), IFF_UP)
head = struct.pack("=IHHII", 16 + len(body), RTM_NEWLINK,
                   NLM_F_REQUEST | NLM_F_ACK, 1, 0)
attempt(sock.send, head + body)
answer = attempt(sock.recv, 4096)
number = -struct.unpack_from("=i", answer, 16)[0]
if number:
    refused(errno.errorcode[number])
worked()
"""

ROUTE = """
RTM_NEWROUTE, FLAGS = 24, 1 | 4 | 0x400 | 0x100
sock = attempt(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 0)
attributes = struct.pack("=HH4s", 8, 1, socket.inet_aton("192.0.2.0"))
attributes += struct.pack("=HHi", 8, 4, 1)
body = struct.pack("=BBBBBBBBI", 2, 24, 0, 0, 254, 3, 253, 1, 0) + attributes
head = struct.pack("=IHHII", 16 + len(body), RTM_NEWROUTE, FLAGS, 1, 0)
attempt(sock.send, head + body)
answer = attempt(sock.recv, 4096)
number = -struct.unpack_from("=i", answer, 16)[0]
if number:
    refused(errno.errorcode[number])
worked()
"""

ADDRESS = """
RTM_NEWADDR, FLAGS = 20, 1 | 4 | 0x400
sock = attempt(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 0)
body = struct.pack("=BBBBi", 2, 8, 0, 0, 1)
body += struct.pack("=HH4s", 8, 2, socket.inet_aton("192.0.2.1"))
head = struct.pack("=IHHII", 16 + len(body), RTM_NEWADDR, FLAGS, 1, 0)
attempt(sock.send, head + body)
answer = attempt(sock.recv, 4096)
number = -struct.unpack_from("=i", answer, 16)[0]
if number:
    refused(errno.errorcode[number])
worked()
"""

NFT = """
tool = "/usr/sbin/nft"
done = subprocess.run([tool, "add", "table", "inet", "osbtest"],
                      capture_output=True, text=True)
if done.returncode:
    refused(done.stderr)
worked()
"""

SYSCTL = """
fd = attempt(os.open, "/proc/sys/net/ipv4/ip_forward", os.O_WRONLY)
attempt(os.write, fd, b"1")
worked()
"""

RAW = """
attempt(socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
worked()
"""

PACKET = """
attempt(socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 0)
worked()
"""

LOW_IF = "check(libc.if_nametoindex(b'lo') - 1, 'lo')\n"


@pytest.mark.parametrize(
    "source, args",
    [(LINK, [1]), (LINK, [0]), (ROUTE, []), (ADDRESS, []), (SYSCTL, []),
     (RAW, []), (PACKET, [])],
    ids=["link up", "link down", "route", "address", "sysctl", "raw", "packet"],
)  # fmt: skip
def test_netlink(daemon, source, args):
    prepare = LINK.replace("int(sys.argv[1])", "1").replace("worked()", "")
    control = attack.outside(prepare + source, args, unshare=["--net"])
    assert control.worked, control
    got = attack.inside(daemon, source, args)
    assert got.refused, got


def test_nft_rules(daemon):
    control = attack.outside(NFT, unshare=["--net"])
    if control.refused:
        pytest.skip(f"this host's kernel has no nf_tables: {control}")
    got = attack.inside(daemon, NFT)
    assert got.refused, got
