# SPDX-License-Identifier: Apache-2.0
"""300 kills of osbd, the broker, both or a client, under load."""

import os

import storm

ROUNDS = int(os.environ.get("SOAK_KILLS", "300"))


def test_nothing_acknowledged_is_lost(service):
    storm.run(service("--private"), ROUNDS, seed=1)
