# SPDX-License-Identifier: Apache-2.0
"""Whatever is done with a volume's path: the right thing or one refusal."""

import ctypes
import os
import threading

import pytest

import osb
import procs

RENAME_EXCHANGE = 2
AT_FDCWD = -100
LIBC = ctypes.CDLL(None, use_errno=True)


@pytest.fixture
def places(folder):
    """An allowed directory, one with a secret store in it, and a link."""
    for name, text in (("good", "public\n"), ("bad", "secret\n")):
        os.mkdir(f"{folder}/{name}")
        with open(f"{folder}/{name}/text", "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(f"{folder}/{name}", 0o755)
    os.mkdir(f"{folder}/bad/.ssh")
    os.symlink("good", f"{folder}/link")
    os.symlink("bad", f"{folder}/other")
    return folder


class Swapping:
    """Exchanges the link with the other one, as fast as it can."""

    def __init__(self, folder):
        self.names = [f"{folder}/{n}".encode() for n in ("link", "other")]
        self.stop = threading.Event()
        self.count = 0
        self.thread = threading.Thread(target=self.swap)

    def swap(self):
        first, second = self.names
        while not self.stop.is_set():
            done = LIBC.renameat2(
                AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE
            )
            assert done == 0, os.strerror(ctypes.get_errno())
            self.count += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def test_a_link_swapped_during_create_shows_no_secret(
    daemon, places, long_run
):
    tries = int(os.environ.get("OSB_TEST_TRIES", 1500 if long_run else 300))
    volume = [{"name": "v", "mountPath": "/data", "readOnly": True,
               "host": {"path": f"{places}/link"}}]  # fmt: skip
    api = daemon.api()
    shown = refused = 0
    with Swapping(places) as swapping:
        for _ in range(tries):
            made = api.request(
                "POST", "/v1/sandboxes", {**http_body(), "volumes": volume}
            )
            if made.status == 202:
                box = made.json()["id"]
                assert read_inside(daemon, box) == "public\n"
                api.request("DELETE", f"/v1/sandboxes/{box}")
                shown += 1
            else:
                assert made.status == 400, made
                assert b"is not allowed" in made.body or b"volume" in made.body
                refused += 1
    assert shown + refused == tries
    assert shown and refused and swapping.count > tries, "both were met"


def http_body():
    return {
        "image": {"uri": "host"},
        "entrypoint": ["sleep", "infinity"],
        "resourceLimits": {},
    }


def read_inside(daemon, box):
    """/data/text as the sandbox's processes see it."""
    for pid in procs.descendants(daemon.pid):
        status = procs.status(pid)
        if status.get("NSpid", "").split()[1:] != ["1"]:
            continue
        try:
            with open(f"/proc/{pid}/root/data/text", encoding="ascii") as file:
                return file.read()
        except FileNotFoundError:
            continue
    raise AssertionError(f"no sandbox {box} with a volume")


def test_a_check_by_name_would_show_it(places):
    """The control: judge a name, then use the name."""
    tricked = 0
    with Swapping(places):
        for _ in range(200000):
            if os.path.realpath(f"{places}/link").endswith("good"):
                with open(f"{places}/link/text", encoding="ascii") as file:
                    tricked += file.read() == "secret\n"
            if tricked:
                break
    assert tricked


@pytest.mark.parametrize("path", [
    "{folder}/good/../bad", "{folder}/bad", "{folder}/other",
    "{folder}/good/../../../../etc", "/proc/self/root/etc",
    "/etc/hostname",
])  # fmt: skip
def test_a_way_round_is_refused_in_one_line(daemon, places, path):
    path = path.format(folder=places)
    done = daemon.run("--volume", f"{path}:/data:ro", "--", "cat", "/data/text")
    assert done.code == 125, done
    assert len(done.err.splitlines()) == 1, done
    assert "is not allowed" in done.err or "without '.' and '..'" in done.err


def test_a_file_can_be_a_volume(daemon, places):
    file = f"{places}/good/text"
    os.chmod(file, 0o644)
    script = "cat /data/one && echo new >/data/one && cat /data/one"
    done = daemon.sh(script, "--volume", f"{file}:/data/one")
    assert done.out == "public\nnew\n", done
    done = daemon.sh("echo no >/data/one", "--volume", f"{file}:/data/one:ro")
    assert "Read-only file system" in done.err, done
    with open(file, encoding="ascii") as now:
        assert now.read() == "new\n"


@pytest.mark.parametrize("kind", ["fifo", "socket", "device"])
def test_what_is_neither_file_nor_directory_is_refused(daemon, places, kind):
    path = f"{places}/{kind}"
    mode = {"fifo": 0o010000, "socket": 0o140000, "device": 0o020000}[kind]
    os.mknod(path, mode | 0o666, os.makedev(1, 3))
    done = daemon.run("--volume", f"{path}:/data", "--", "true")
    assert done.code == 125, done
    assert "neither a directory nor a regular file" in done.err


# Mounts a file system that takes requests and never answers, then becomes the
# broker; the end of that ends the file system's process too.
SILENT_FUSE = r"""
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
folder, argv = sys.argv[1], sys.argv[2:]
fd = os.open("/dev/fuse", os.O_RDWR)
data = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
if libc.mount(b"silent", folder.encode(), b"fuse", 6, data) < 0:
    sys.exit(os.strerror(ctypes.get_errno()))
if os.fork() == 0:
    libc.prctl(1, signal.SIGKILL)
    os.closerange(3, fd)
    os.closerange(fd + 1, 1000)
    while True:
        os.read(fd, 1 << 20)
os.close(fd)
os.execv(argv[0], argv)
"""


@pytest.mark.parametrize("below", ["", "/deeper"])
def test_a_file_system_that_never_answers_holds_up_nobody(
    service, folder, below
):
    if not os.path.exists("/dev/fuse"):
        pytest.skip("no /dev/fuse")
    own = service(
        "--private",
        wrapper=["unshare", "--mount", osb.PYTHON, "-c", SILENT_FUSE, folder],
    )
    start = own.run("--", "true")
    assert start.code == 0, start
    done = own.run("--volume", f"{folder}{below}:/data", "--", "true")
    assert done.code == 125, done
    assert len(done.err.splitlines()) == 1
    assert "doesn't answer" in done.err or "local file systems" in done.err
    assert done.seconds < 5
    assert own.run("--", "echo", "fine").out == "fine\n"
    own.stop()


def refusal(daemon, path, *more):
    volumes = [{"name": f"v{i}", "mountPath": target, "host": {"path": path}}
               for i, target in enumerate(("/data", *more))]  # fmt: skip
    reply = daemon.api().request(
        "POST", "/v1/sandboxes", {**http_body(), "volumes": volumes}
    )
    assert reply.status == 400, reply
    return reply.json()["code"]


def test_each_refusal_has_its_code(daemon, places):
    assert refusal(daemon, "/etc") == "VOLUME::HOST_PATH_NOT_ALLOWED"
    missing = f"{places}/nowhere"
    assert refusal(daemon, missing) == "VOLUME::HOST_PATH_NOT_FOUND"
    assert refusal(daemon, f"{places}/good", "/data").startswith("VOLUME::")
    assert refusal(daemon, f"{places}/good", "/data/").startswith("VOLUME::")
