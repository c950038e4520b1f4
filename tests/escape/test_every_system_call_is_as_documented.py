# SPDX-License-Identifier: Apache-2.0
"""Each x86-64 system call inside does what docs/syscalls.md says.

It is made in a child, with arguments that can't succeed. The control is the
same call outside, where no filter stands before the kernel.
"""

import json
import platform
import re
import subprocess

import pytest

import attack
import osb

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64",
    reason="this host isn't of the architecture whose numbers are run",
)

# Reads [[number, [argument, ...]], ...]; writes how each ended: an errno by
# name, "0", "signal N" or "waits".
PROGRAM = r"""
import ctypes, errno, json, os, resource, select, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

def made(number, args):
    if number != 112:  # setsid itself: a leader can't
        os.setsid()
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    ctypes.set_errno(0)
    libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    os._exit(ctypes.get_errno())

def outcome(number, args):
    child = os.fork()
    if child == 0:
        made(number, args)
    fd = os.pidfd_open(child)
    ready, _, _ = select.select([fd], [], [], 0.5)
    os.close(fd)
    if not ready:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not ready:
        return "waits"
    if status < 0:
        return "signal %d" % -status
    return errno.errorcode.get(status, str(status))

calls = json.load(sys.stdin)
null = os.open("/dev/null", os.O_RDWR)
json.dump([outcome(number, args) for number, args in calls], sys.stdout)
"""

ALL_ONES = [-1] * 6
# Where -1 would say nothing, or wait: a futex operation that doesn't exist is
# ENOSYS, -1 names every process, and sync writes all that the host has.
OTHER_ARGUMENTS = {
    "futex": [0, 1, 1, 0, 0, 0],
    "kill": [0x7FFFFFFF, 0, 0, 0, 0, 0],
    "clone": [17, 0, 0, 0, 0, 0],
    "unshare": [0, 0, 0, 0, 0, 0],
}
# By the kernel past any filter; see the page.
UNFILTERED = {"uretprobe", "uprobe"}

NEW_USER, NEW_NET = 0x10000000, 0x40000000
# Call: what passes its check, what doesn't, and the answer to that.
CHECKED = {
    "clone": ([17], [NEW_USER | 17], "EPERM"),
    "unshare": ([0], [NEW_NET], "EPERM"),
    "socket": ([1, 1], [40, 1], "EAFNOSUPPORT"),
    "ioctl": ([-1, 0x5413], [-1, 0x5412], "EPERM"),
    "fcntl": ([-1, 1], [-1, 1031], "EPERM"),
}
SET_ID = 0o4755
CHECKED_WITH_VOLUME = {
    "open": ([-1, 0o100, 0o755], [-1, 0o100, SET_ID], "EPERM"),
    "creat": ([-1, 0o755], [-1, SET_ID], "EPERM"),
    "chmod": ([-1, 0o755], [-1, SET_ID], "EPERM"),
    "fchmod": ([-1, 0o755], [-1, SET_ID], "EPERM"),
    "mknod": ([-1, 0o100755], [-1, 0o100000 | SET_ID], "EPERM"),
    "openat": ([-1, -1, 0o100, 0o755], [-1, -1, 0o100, SET_ID], "EPERM"),
    "mknodat": ([-1, -1, 0o100755], [-1, -1, 0o100000 | SET_ID], "EPERM"),
    "fchmodat": ([-1, -1, 0o755], [-1, -1, SET_ID], "EPERM"),
    "openat2": (None, ALL_ONES, "ENOSYS"),
    "fchmodat2": ([-1, -1, 0o755], [-1, -1, SET_ID], "EPERM"),
}


def page():
    """{call: (number on x86-64, answer)} of each of the page's three tables."""
    text = (osb.ROOT / "docs/syscalls.md").read_text()
    first, *others = re.split(r"^## ", text, flags=re.M)
    assert [other.split()[0] for other in others] == ["With", "In"]
    row = r"^\| `(\w+)` \| (\d+) \| %s([^|]*) \|"
    patterns = [row % ""] + [row % r"[-\d]+ \| "] * 2
    return [
        {name: (int(number), answer)
         for name, number, answer in re.findall(pattern, part, re.M)}
        for pattern, part in zip(patterns, [first, *others])
    ]  # fmt: skip


def run_inside(daemon, calls, *options, user="root"):
    done = daemon.python(PROGRAM, "--user", user, "--timeout", "50s",
                         *options, input=json.dumps(calls).encode())  # fmt: skip
    assert done.code == 0, done
    return done.json()


def run_outside(calls):
    done = subprocess.run(
        ["unshare", "--kill-child", "--fork", "--pid", "--mount-proc", "--net",
         "--uts", "--ipc", "--", osb.PYTHON, "-c", PROGRAM],
        input=json.dumps(calls).encode(), capture_output=True, timeout=50,
    )  # fmt: skip
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_all(daemon):
    table = page()[0]
    assert len(table) > 380 and table["read"] == (0, "allowed")
    calls = [[number, OTHER_ARGUMENTS.get(name, ALL_ONES)]
             for name, (number, _) in table.items()]  # fmt: skip
    inside, outside = run_inside(daemon, calls), run_outside(calls)
    wrong, refused_here_only, hidden = [], [], []
    for (name, (_, answer)), got, plain in zip(table.items(), inside, outside):
        if name in UNFILTERED:
            continue
        if answer in ("EPERM", "ENOSYS"):
            if got != answer:
                wrong.append((name, answer, got))
            elif plain != got:
                refused_here_only.append(name)
        elif got in ("EPERM", "ENOSYS"):
            # The kernel's own word, if it says so to all.
            (hidden if got == plain else wrong).append((name, answer, got))
    assert not wrong, wrong
    assert len(refused_here_only) > 45, refused_here_only
    assert len(hidden) < 10, hidden


def test_numbers_without_a_name(daemon):
    """Below the last allowed one EPERM, above it ENOSYS, as the page says."""
    table = page()[0]
    named = {number for number, _ in table.values()}
    last = max(number for number, answer in table.values()
               if answer not in ("EPERM", "ENOSYS"))  # fmt: skip
    gaps = [n for n in range(last) if n not in named]
    later = [n for n in range(last + 1, 600)] + [4000, 0x7FFFFFFF]
    x32 = [0x40000000 + number for number in (0, 39, 57, 520)]
    numbers = gaps + later + x32
    got = run_inside(daemon, [[n, ALL_ONES] for n in numbers])
    assert len(gaps) > 50
    assert set(got[: len(gaps)]) == {"EPERM"}
    assert set(got[len(gaps):]) == {"ENOSYS"}
    plain = run_outside([[n, ALL_ONES] for n in gaps])
    assert set(plain) == {"ENOSYS"}


def check(daemon, table, checked, *options):
    calls = []
    for name, (passes, refused, _) in checked.items():
        number = table[name][0]
        calls += [[number, (args or []) + [0] * (6 - len(args or []))]
                  for args in (passes, refused)]  # fmt: skip
    inside, outside = run_inside(daemon, calls, *options), run_outside(calls)
    for place, (name, (passes, _, answer)) in enumerate(checked.items()):
        assert answer in table[name][1], name
        if passes:
            assert inside[2 * place] not in ("EPERM", "ENOSYS"), name
        assert inside[2 * place + 1] == answer, (name, inside[2 * place + 1])
        assert outside[2 * place + 1] != answer, name


def test_checks(daemon):
    table = page()[0]
    with_check = {name for name, (_, answer) in table.items()
                  if answer not in ("allowed", "EPERM", "ENOSYS",
                                    "answered by init")}  # fmt: skip
    assert with_check == set(CHECKED)
    check(daemon, table, CHECKED)


def test_checks_with_a_writable_volume(daemon, folder):
    table = page()[1]
    assert set(table) == set(CHECKED_WITH_VOLUME)
    check(daemon, table, CHECKED_WITH_VOLUME, "--volume", f"{folder}:/v")


def test_strict(daemon):
    ordinary, _, strict = page()
    assert len(strict) > 25 and set(strict) <= set(ordinary)
    calls = [[number, ALL_ONES] for number, _ in strict.values()]
    got = run_inside(daemon, calls, "--profile", "strict", user="sandbox")
    assert dict(zip(strict, got)) == dict.fromkeys(strict, "EPERM")
    control = run_inside(daemon, calls, user="sandbox")
    passed = [name for name, answer in zip(strict, control) if answer != "EPERM"]
    # Of others the kernel says the same to an ordinary user.
    assert len(passed) > 15, passed


# getpid by the 32-bit entry: mov eax, 20; int 0x80; movsxd rax, eax; ret
ENTRY_32 = """
import mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("b814000000" "cd80" "4863c0" "c3"))
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
result = ctypes.CFUNCTYPE(ctypes.c_long)(address)()
if result < 0:
    refused(errno.errorcode[-result])
worked(str(result == os.getpid()))
"""


def test_the_32_bit_entry(daemon):
    got = attack.inside(daemon, ENTRY_32)
    assert got.refused and "ENOSYS" in got.text, got
    control = attack.outside(ENTRY_32)
    assert control.worked and "True" in control.text, control
