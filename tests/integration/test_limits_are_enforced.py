# SPDX-License-Identifier: Apache-2.0
"""Memory, cpu, pids, disk and inodes: the kernel keeps each."""

import pytest

pytestmark = pytest.mark.plain


def test_memory_counts_processes_together(daemon):
    script = (
        "import os, time\n"
        "for i in range(4):\n"
        "    if os.fork() == 0:\n"
        "        x = bytearray(30 << 20); time.sleep(3); os._exit(0)\n"
        "print(sorted(os.waitstatus_to_exitcode(os.wait()[1]) "
        "for i in range(4)))\n"
    )
    done = daemon.python(script, "--memory", "96Mi")
    assert "-9" in done.out or done.code == 137, done
    done = daemon.python(script, "--memory", "256Mi")
    assert done.out == "[0, 0, 0, 0]\n", done


def test_memory_counts_shm_and_the_writable_layer(daemon):
    for place in ("/dev/shm/x", "/workspace/x"):
        script = f"head -c 60M /dev/zero >{place}; echo $?"
        done = daemon.sh(script, "--memory", "32Mi", "--disk", "16Mi")
        assert done.code == 137 or done.out.strip() != "0", (place, done)
    script = "head -c 40M /dev/zero >/dev/shm/x && echo ok"
    assert daemon.sh(script, "--memory", "128Mi").out == "ok\n"


def test_a_fork_bomb_stays_in_its_limit(daemon):
    bomb = "import os\nwhile True:\n try: os.fork()\n except OSError: pass"
    done = daemon.python(bomb, "--pids", "64", "--timeout", "2s")
    assert done.code == 124, done
    assert done.seconds < 3.5
    assert daemon.run("--", "echo", "fine").out == "fine\n"


def test_cpus_are_a_quota(daemon):
    script = (
        "import time\n"
        "end = time.monotonic() + 1.5\n"
        "while time.monotonic() < end: pass\n"
        "print(time.process_time())\n"
    )
    used = float(daemon.python(script, "--cpus", "0.25").out)
    assert 0.2 < used < 0.6


def test_disk_is_enospc_not_an_oom(daemon):
    done = daemon.sh("head -c 64M /dev/zero >x", "--disk", "16Mi")
    assert done.code == 1, done
    assert "No space left" in done.err


def test_disk_of_the_asked_size_can_be_used(daemon):
    script = "head -c 15M /dev/zero >x && stat -c %s x"
    done = daemon.sh(script, "--disk", "16Mi")
    assert done.out == f"{15 << 20}\n", done


def test_open_files_are_limited(daemon):
    done = daemon.sh("ulimit -n; ulimit -Hn; ulimit -c")
    assert done.out.split() == ["1024", "1024", "0"]


def test_nothing_dumps_core(daemon):
    """1, not 0, which a core_pattern that is a pipe overlooks."""
    done = daemon.python(
        "import resource; print(*resource.getrlimit(resource.RLIMIT_CORE))"
    )
    assert done.out == "1 1\n", done
    done = daemon.sh("sh -c 'kill -SEGV $$' 2>&1; ls -A")
    assert "core" not in done.out, done


def test_nothing_can_be_raised_again(daemon):
    script = (
        "import resource\n"
        "try: resource.setrlimit(resource.RLIMIT_NOFILE, (9999, 9999))\n"
        "except (ValueError, PermissionError): print('kept')\n"
    )
    assert daemon.python(script, "--user", "root").out == "kept\n"


def test_inodes_are_limited(daemon):
    script = (
        "import os\n"
        "try:\n"
        "    for i in range(100000): os.mknod('/workspace/%d' % i)\n"
        "    print('all')\n"
        "except OSError as e: print(e.errno)\n"
    )
    assert daemon.python(script).out == "28\n"
