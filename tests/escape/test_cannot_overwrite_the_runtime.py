# SPDX-License-Identifier: Apache-2.0
"""What of ours runs inside can't be changed from there, by /proc/PID/exe.

A file request starts osb-files, a program of the host's, as root of the
sandbox. Who catches it holds on to the file, and writes to it once it is no
longer busy: runc was taken over so.
"""

import os
import threading

import attack
import osb

CATCH = """
import time
def catch():
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            fd = os.open("/proc/%s/exe" % name, os.O_PATH)
        except OSError:
            continue
        if os.readlink("/proc/self/fd/%d" % fd).endswith(sys.argv[1]):
            return fd
        os.close(fd)
print("catching", flush=True)
caught = None
while caught is None and not os.path.exists("/tmp/enough"):
    caught = catch()
if caught is None:
    refused("nothing caught")
for _ in range(300):
    try:
        fd = os.open("/proc/self/fd/%d" % caught, os.O_WRONLY)
        os.write(fd, b"owned")
        worked()
    except OSError as error:
        if error.errno != errno.ETXTBSY:
            refused("caught it, but: %s" % error)
    time.sleep(0.01)
refused("busy for ever")
"""

OUTSIDE = """
import shutil
check(libc.mount(b"none", b"/mnt", b"tmpfs", 0, None), "mount")
shutil.copy("/usr/bin/sleep", "/mnt/runtime")
os.chmod("/mnt/runtime", 0o755)
subprocess.Popen(["/mnt/runtime", "0.2"])
"""


def test_the_program_of_file_requests(daemon, sandbox):
    control = attack.outside(
        OUTSIDE + CATCH, ["runtime"], unshare=["--mount", "--pid", "--mount-proc"]
    )
    assert control.worked, control
    program = os.stat(osb.BUILD / "osb-files")
    done = threading.Event()
    attacker = sandbox.exec("python3", "-c", attack.PRELUDE + CATCH, "osb-files",
                            user="root")  # fmt: skip

    def wait():
        attacker.wait()
        done.set()

    while b"catching" not in attacker.stdout:
        assert attacker.receive()
    waiter = threading.Thread(target=wait)
    waiter.start()
    for number in range(300):
        metadata = {"path": f"/workspace/{number}", "mode": 644}
        reply = sandbox.upload((metadata, b"x" * 100))
        assert reply.status == 200, reply
        if done.is_set():
            break
    sandbox.upload(({"path": "/tmp/enough", "mode": 644}, b""))
    waiter.join(timeout=20)
    assert attacker.verdict["exit_code"] == attack.REFUSED, attacker.stdout
    after = os.stat(osb.BUILD / "osb-files")
    assert (after.st_mtime_ns, after.st_size, after.st_ino) == (
        program.st_mtime_ns, program.st_size, program.st_ino)  # fmt: skip


def test_a_program_of_the_image(daemon):
    """A copy in /tmp that isn't running any more can be written, by the same
    way: so the control, inside too."""
    copied = (
        "import os, shutil, sys\n"
        "shutil.copy(sys.executable, '/tmp/copy')\n"
        "fd = os.open('/tmp/copy', os.O_PATH)\n"
        "os.close(os.open('/proc/self/fd/%d' % fd, os.O_WRONLY))\n"
    )
    assert daemon.python(copied, "--user", "root").code == 0
    source = copied.replace("shutil.copy(sys.executable, '/tmp/copy')", "pass")
    source = source.replace("/tmp/copy", "/usr/bin/env")
    done = daemon.python(source, "--user", "root")
    assert done.code == 1 and "Read-only file system" in done.err, done
