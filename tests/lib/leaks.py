# SPDX-License-Identifier: Apache-2.0
"""What the machine holds: no more after a test than before it.

Counted: mounts, live cgroups below ours, namespaces (by process and by
descriptor), processes of ours and in foreign pid namespaces, descriptors of
the daemon's processes, files in its run directory, temporary files, and loop
devices.
"""

import collections
import glob
import itertools
import os
import pathlib
import re
import time

import orphans
import osb
import procs

SETTLE_SECONDS = 2.0

# A broker keeps what the next disk may need for a second or two.
GONE_SECONDS = 5.0

# Counted are our cgroups and files, and those of daemons that osb itself
# starts, unless sandboxes that aren't ours come and go on this host.
CGROUP_PARENTS = [osb.CGROUP_PARENT]
FILES = ["/dev/shm/osb*"]
SHARED = os.environ.get("OSB_TEST_SHARED_HOST") == "1"
if not SHARED:
    CGROUP_PARENTS.append("opensandbox")
    FILES += ["/tmp/osb*", "/tmp/opensandbox*"]


def pids():
    """All on this host, or those below us: orphans.adopt() loses none."""
    return procs.descendants(os.getpid()) if SHARED else procs.all_pids()


def inits():
    """First processes of sandboxes, below us."""
    return [
        pid
        for pid in procs.descendants(os.getpid())
        if procs.comm(pid) == "osb-init"
        and procs.is_alive(pid)
        and len(procs.status(pid).get("NSpid", "").split()) == 2
    ]


def mounts(pid="self"):
    """Mount points with their type, of a process's mount namespace."""
    found = []
    for line in procs.read(pid, "mountinfo").splitlines():
        left, right = line.split(" - ", 1)
        found.append(f"mount {left.split()[4]} {right.split()[0]}")
    return found


def cgroup_roots():
    for line in procs.read("self", "mountinfo").splitlines():
        left, right = line.split(" - ", 1)
        if right.split()[0] in ("cgroup", "cgroup2"):
            yield pathlib.Path(left.split()[4])


# Slots whose groups a block may keep for its next sandboxes.
SPARE_SLOTS = 4


def is_kept(folder):
    """In a v1 hierarchy where a slot's groups serve again?"""
    return any({"memory", "cpu"} & set(part.split(",")) for part in folder.parts)


def slot_of(folder):
    """The block's name and the slot's number, or None."""
    for block, slot in itertools.pairwise(folder.parts):
        if re.fullmatch(r"b\d+", block) and slot.isdigit():
            return block, slot
    return None


def without_spare(folders):
    """Without the groups of slots where nobody lives, but for too many."""
    live = {slot_of(folder) for folder in folders if not is_kept(folder)}
    spare = collections.defaultdict(set)
    for folder in folders:
        slot = slot_of(folder)
        if slot and is_kept(folder) and slot not in live:
            seen = spare[folder.parts[: folder.parts.index(slot[0]) + 1]]
            if slot in seen or len(seen) < SPARE_SLOTS:
                seen.add(slot)
                continue
        yield folder


def cgroups():
    """Every directory below a cgroup of ours, in every hierarchy."""
    found = []
    for root in cgroup_roots():
        for parent in CGROUP_PARENTS:
            for folder, _, _ in os.walk(root / parent, onerror=lambda e: None):
                found.append(pathlib.Path(folder))
    return [f"cgroup {folder}" for folder in without_spare(found)]


def namespaces(daemon_pids):
    """How many namespaces of each kind exist, as far as /proc shows them."""
    seen = collections.defaultdict(set)
    for pid in pids():
        if not procs.is_alive(pid):
            continue
        for kind, target in procs.links(pid, "ns").items():
            if kind in procs.NAMESPACES:
                seen[kind].add(target)
    for pid in daemon_pids:
        for target in procs.links(pid, "fd").values():
            kind = target.split(":", 1)[0]
            if kind in procs.NAMESPACES:
                seen[kind].add(target)
    return {f"{kind} namespaces": len(ids) for kind, ids in seen.items()}


def processes():
    """Ours by name, and everything that isn't in our pid namespace."""
    own = os.readlink("/proc/self/ns/pid")
    found = []
    for pid in pids():
        name = procs.comm(pid)
        is_zombie = procs.state(pid) == "Z"
        if is_zombie and procs.parent(pid) == 1:
            continue  # pid 1's to reap, which in a container may not
        where = procs.links(pid, "ns").get("pid", own)
        if name.startswith("osb") or where != own:
            found.append(f"{'zombie' if is_zombie else 'process'} {pid} {name}")
    return found


def descriptors(pid):
    """Counted by what they are, so that a difference has a name."""
    kinds = collections.Counter()
    for target in procs.links(pid, "fd").values():
        kinds[target.split(":")[0].split(" ")[0]] += 1
    return {
        f"fds of {procs.comm(pid)} {pid}: {kind}": count
        for kind, count in kinds.items()
    }


def files(daemon):
    found = []
    for folder in (daemon.run_dir, daemon.tmp_dir):
        for root, names, leaves in os.walk(folder):
            found += [f"file {root}/{name}" for name in names + leaves]
    for pattern in FILES:
        found += [
            f"file {path}"
            for path in glob.glob(pattern)
            if not path.startswith(str(daemon.home))
            and not os.path.basename(path).startswith("osb-test-")
        ]
    return found


def snapshot(daemon):
    orphans.reap()
    of_daemon = daemon.pids()
    loops = [] if SHARED else glob.glob("/dev/loop[0-9]*")
    counts = collections.Counter()
    for thing in (
        mounts()
        + mounts(daemon.pid)
        + cgroups()
        + processes()
        + files(daemon)
        + [f"loop device {path}" for path in loops]
    ):
        counts[thing] += 1
    counts.update(namespaces(of_daemon))
    for pid in of_daemon:
        counts.update(descriptors(pid))
    return counts


def differ(before, after):
    """One line per thing that there is more of.

    Less is no leak: an idle daemon of somebody else may leave meanwhile.
    """
    lines = []
    for thing in sorted(after):
        if after[thing] > before[thing]:
            lines.append(f"  {thing}: {before[thing]} -> {after[thing]}")
    return "\n".join(lines)


# The last look of the last check.
last_seen = None


def wait_until_gone(before, daemon, seconds=GONE_SECONDS):
    """Return "" when nothing is more within the time, else what is."""
    global last_seen
    end = time.monotonic() + seconds
    while True:
        last_seen = snapshot(daemon)
        difference = differ(before, last_seen)
        if not difference or time.monotonic() > end:
            return difference
        time.sleep(0.02)


def settled(daemon, seconds=SETTLE_SECONDS):
    """A snapshot that two looks in a row agree on."""
    end = time.monotonic() + seconds
    now, last = snapshot(daemon), last_seen
    while now != last and time.monotonic() < end:
        time.sleep(0.05)
        now, last = snapshot(daemon), now
    return now
