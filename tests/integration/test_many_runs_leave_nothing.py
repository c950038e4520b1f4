# SPDX-License-Identifier: Apache-2.0
"""Many runs, one after another and at once: right statuses, nothing left."""

import concurrent.futures

import pytest

pytestmark = pytest.mark.plain


def run_one(daemon, i):
    code = i % 100
    done = daemon.sh(f"echo {i}; exit {code}", input=None)
    return (done.code, done.out) == (code, f"{i}\n") or repr(done)


def test_one_after_another(daemon):
    for i in range(1000):
        assert run_one(daemon, i) is True


def test_in_groups_of_fifty(daemon):
    wrong = []
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        for start in range(0, 200, 50):
            group = [
                pool.submit(run_one, daemon, i) for i in range(start, start + 50)
            ]
            wrong += [f.result() for f in group if f.result() is not True]
    assert wrong == []
    assert daemon.api().ids() == []
