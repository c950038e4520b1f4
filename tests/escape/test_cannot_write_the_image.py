# SPDX-License-Identifier: Apache-2.0
"""Root inside cannot change a file that others' sandboxes or the host use."""

import pytest

import attack

ATTACK = """
path = sys.argv[1] + "/osb-test-written"
with attempt(open, path, "w") as file:
    file.write("x")
worked()
"""

OVER = """
with attempt(open, "/usr/bin/env", "r+b") as file:
    file.write(file.read(1))
worked()
"""


@pytest.mark.parametrize("folder", ["/usr", "/usr/bin", "/usr/local/lib"])
def test_new_file(daemon, folder):
    prepare = (
        f"check(libc.mount(b'none', b'{folder}', b'tmpfs', 0, None), 'mount')\n"
    )
    assert attack.outside(prepare + ATTACK, [folder], ["--mount"]).worked
    got = attack.inside(daemon, ATTACK, [folder])
    assert got.refused, got


def test_existing_file(daemon):
    prepare = (
        "check(libc.mount(b'none', b'/mnt', b'tmpfs', 0, None), 'mount')\n"
        "open('/mnt/env', 'w').write('x')\n"
    )
    source = OVER.replace("/usr/bin/env", "/mnt/env")
    assert attack.outside(prepare + source, unshare=["--mount"]).worked
    got = attack.inside(daemon, OVER)
    assert got.refused, got


def test_changes_stay_in_one_sandbox(daemon):
    script = "echo changed >/etc/hosts && cat /etc/hosts"
    daemon.sh(script, "--user", "root")
    assert "changed" not in daemon.run("--", "cat", "/etc/hosts").out
    with open("/etc/hosts") as file:
        assert "changed" not in file.read()
