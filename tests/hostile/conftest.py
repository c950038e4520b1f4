# SPDX-License-Identifier: Apache-2.0
"""Daemons with one process taken over."""

import pytest

import hostile
import osb


@pytest.fixture(autouse=True, scope="session")
def programs():
    if osb.SANITIZED:
        pytest.skip("this host runs sanitized programs, which link no wraps")


@pytest.fixture
def hostile_service(nothing_left):
    """Make daemons: hostile_service("--private", take=..., lax=...)."""
    with osb.making(hostile.Service) as make:
        yield make


@pytest.fixture
def taken_over(hostile_service):
    """Make a broker with a hostile osbd: its service, and the osbd."""
    channels = []

    def make(*args, lax=None, hello=True, take=(), **kwargs):
        service = hostile_service(
            *args, lax=lax, idle_exit="10m",
            take={"osbd": hostile.HOSTILE / "osbd", **dict(take)}, **kwargs,
        )  # fmt: skip
        osbd = hostile.Osbd(service)
        channels.append(osbd)
        if hello:
            assert osbd.hello().good
            osbd.works()  # and makes what the first sandbox needs
        return service, osbd

    yield make
    for channel in channels:
        channel.close()
