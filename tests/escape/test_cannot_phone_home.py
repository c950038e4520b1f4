# SPDX-License-Identifier: Apache-2.0
"""No packet leaves: not over IPv4, not over IPv6, not by name."""

import pytest

import attack

SEND = """
family = getattr(socket, sys.argv[1])
sock = attempt(socket.socket, family, socket.SOCK_DGRAM)
attempt(sock.sendto, b"x", (sys.argv[2], 9))
worked()
"""

# A link of its own, whose other end exists nowhere.
PREPARE = """
def ip(*args):
    subprocess.run(["ip", *args], check=True, capture_output=True)
ip("link", "set", "lo", "up")
ip("addr", "add", "198.51.100.1/24", "dev", "lo")
ip("addr", "add", "2001:db8::1/64", "dev", "lo", "nodad")
"""


@pytest.mark.parametrize("user", ["root", "sandbox"])
@pytest.mark.parametrize(
    "family, address",
    [("AF_INET", "198.51.100.1"), ("AF_INET6", "2001:db8::1"),
     ("AF_INET", "169.254.169.254"), ("AF_INET6", "fe80::1%lo"),
     ("AF_INET6", "ff02::1%lo")],
)  # fmt: skip
def test_no_route(daemon, family, address, user):
    if address.startswith(("198", "2001")):
        control = attack.outside(
            PREPARE + SEND, [family, address], unshare=["--net"]
        )
        if control.refused and family == "AF_INET6":
            pytest.skip(f"this host has no IPv6: {control}")
        assert control.worked, control
    got = attack.inside(daemon, SEND, [family, address], user=user)
    assert got.refused, got


NAME = """
attempt(socket.getaddrinfo, "example.com", 80)
worked()
"""


def test_no_name_is_resolved(daemon):
    prepare = (
        "open('/tmp/osb-test-hosts', 'w').write('192.0.2.7 example.com')\n"
        "check(libc.mount(b'/tmp/osb-test-hosts', b'/etc/hosts', None, 4096, "
        "None), 'bind')\n"
        "os.unlink('/tmp/osb-test-hosts')\n"
    )
    assert attack.outside(prepare + NAME, unshare=["--mount"]).worked
    got = attack.inside(daemon, NAME)
    assert got.refused, got
