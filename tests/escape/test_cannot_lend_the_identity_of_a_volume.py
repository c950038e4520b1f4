# SPDX-License-Identifier: Apache-2.0
"""What a sandbox leaves in a volume runs with nobody else's rights."""

import os
import stat

import pytest

import attack

CHMOD = """
fd = os.open(sys.argv[1] + "/x", os.O_CREAT | os.O_WRONLY, 0o755)
attempt(os.chmod, sys.argv[1] + "/x", 0o4755)
worked()
"""
FCHMOD = """
fd = os.open(sys.argv[1] + "/x", os.O_CREAT | os.O_WRONLY, 0o755)
attempt(os.fchmod, fd, 0o2755)
worked()
"""
OPEN = """
attempt(os.open, sys.argv[1] + "/x", os.O_CREAT | os.O_WRONLY, 0o4755)
worked()
"""


@pytest.mark.parametrize("user", ["root", "sandbox"])
@pytest.mark.parametrize(
    "source", [CHMOD, FCHMOD, OPEN], ids=["chmod", "fchmod", "open"]
)
def test_set_id(daemon, folder, source, user):
    """Control: without a writable volume it works, on the sandbox's files."""
    control = attack.inside(daemon, source, ["/tmp"], user=user)
    assert control.worked, control
    options = ["--volume", f"{folder}:/v"]
    got = attack.inside(daemon, source, ["/v"], user=user, options=options)
    assert got.refused, got
    for name in os.listdir(folder):
        mode = os.stat(f"{folder}/{name}").st_mode
        assert not mode & (stat.S_ISUID | stat.S_ISGID)


def test_a_volume_belongs_to_the_user_inside(daemon, folder):
    done = daemon.sh(
        "stat -c %U /v; echo hello >/v/new", "--volume", f"{folder}:/v"
    )
    assert done.out == "sandbox\n", done
    with open(f"{folder}/new") as file:
        assert file.read() == "hello\n"
    assert os.stat(f"{folder}/new").st_uid == os.stat(folder).st_uid


@pytest.mark.parametrize("owner", [1000, 1001, 33, 70000])
def test_whoever_owns_it(daemon, folder, owner):
    os.chown(folder, owner, owner)
    done = daemon.sh(
        "stat -c %U:%G /v; echo x >/v/new", "--volume", f"{folder}:/v"
    )
    assert done.out == "sandbox:sandbox\n", done
    assert os.stat(f"{folder}/new").st_uid == owner


# vfs_cap_data: version 2, or 3 with a root id, effective; CAP_SETUID.
CAPABILITY = """
path = "%s/of%d" % (sys.argv[1], os.getuid())
open(path, "w").close()
root = sys.argv[2]
data = struct.pack("<IIIII", 0x02000001, 1 << 7, 0, 0, 0)
if root != "none":
    data = struct.pack("<IIIIII", 0x03000001, 1 << 7, 0, 0, 0, int(root))
attempt(os.setxattr, path, "security.capability", data)
worked()
"""


@pytest.mark.parametrize("owner", [0, 1000, 12345])
@pytest.mark.parametrize("root", ["none", "0", "1000"])
def test_a_file_capability(daemon, folder, owner, root):
    """Control: without a writable volume root may set it, for inside only."""
    os.chown(folder, owner, owner)
    if root == "none":
        control = attack.inside(
            daemon, CAPABILITY, ["/tmp", root], user="root"
        )
        assert control.worked, control
    for user in ("root", "sandbox"):
        got = attack.inside(
            daemon, CAPABILITY, ["/v", root], user=user,
            options=["--volume", f"{folder}:/v"],
        )  # fmt: skip
        assert got.refused, got
    for name in os.listdir(folder):
        assert "security.capability" not in os.listxattr(f"{folder}/{name}")
