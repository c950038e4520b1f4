# SPDX-License-Identifier: Apache-2.0
"""The short form of tests/soak."""

import pytest

import churn
import storm


def test_nothing_acknowledged_is_lost_when_things_are_killed(service, long_run):
    storm.run(service("--private"), 20 if long_run else 12, seed=2)


@pytest.mark.memory
def test_many_sandboxes_leave_nothing(service, long_run):
    churn.create_exec_delete(service("--private"), 400 if long_run else 200)


@pytest.mark.memory
def test_many_programs_that_write_leave_nothing(service, long_run):
    churn.execs_that_write(service("--private"), 400 if long_run else 200)
