# SPDX-License-Identifier: Apache-2.0
"""10,000 sandboxes, and 10,000 programs in one: nothing grows."""

import os

import churn

ROUNDS = int(os.environ.get("SOAK_ROUNDS", "10000"))


def test_create_exec_delete(service):
    churn.create_exec_delete(service("--private"), ROUNDS)


def test_execs_that_write(service):
    churn.execs_that_write(service("--private"), ROUNDS)
