# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the black-box tests, and the leak check around each of them."""

import os
import pathlib
import shutil
import signal
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "lib"))

import leaks  # noqa: E402
import orphans  # noqa: E402
import osb  # noqa: E402

LONG = os.environ.get("OSB_TEST_LONG") == "1"


def pytest_configure(config):
    config.addinivalue_line("markers", "memory: bounds that a sanitizer breaks")
    config.addinivalue_line("markers", "plain: of nothing that is sanitized")
    if os.geteuid() != 0:
        pytest.exit("these tests make sandboxes, which needs root", 2)
    missing = [n for n in osb.BINARIES if not (osb.BUILD / n).exists()]
    if missing:
        pytest.exit(f"not in {osb.BUILD}: {' '.join(missing)}; run make", 2)
    orphans.adopt()
    # In a shell's background job it is ignored, and so by all that we start.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_daemon():
    """One private broker and osbd for all tests that don't hurt it."""
    with osb.Service("--private") as service:
        service.warm_up()
        yield service
    for root in leaks.cgroup_roots():
        if (root / osb.CGROUP_PARENT).exists():
            (root / osb.CGROUP_PARENT).rmdir()  # only an empty one goes


@pytest.fixture(autouse=True)
def nothing_left(request, shared_daemon):
    """The machine holds no more after each test than before it."""
    before = leaks.settled(shared_daemon)
    yield
    if not shared_daemon.is_alive():
        pytest.fail("the shared daemon died:\n" + shared_daemon.log())
    difference = leaks.wait_until_gone(before, shared_daemon)
    if difference:
        for left in shared_daemon.api().ids():  # not into the next test too
            shared_daemon.api().request("DELETE", f"/v1/sandboxes/{left}")
        pytest.fail("left behind:\n" + difference)


@pytest.fixture
def daemon(shared_daemon):
    """The shared daemon; the test may use it, not end it."""
    return shared_daemon


@pytest.fixture
def service(nothing_left):
    """Make daemons of the test's own: service("--private", keys={...})."""
    with osb.making(osb.Service) as make:
        yield make


@pytest.fixture
def sandbox(daemon):
    """A sandbox made over the API, deleted at the end."""
    api = daemon.api()
    made = api.create()
    yield made
    api.request("DELETE", f"/v1/sandboxes/{made.id}")


@pytest.fixture
def folder():
    """A host folder that the allow-list of a private daemon admits."""
    path = tempfile.mkdtemp(prefix="osb-test-volume-", dir="/var/tmp")
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def long_run():
    """True when asked for the full numbers: OSB_TEST_LONG=1."""
    return LONG
