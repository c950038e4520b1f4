# SPDX-License-Identifier: Apache-2.0
"""300 kills each of osbd, the broker, both and a client, under load."""

import os

import pytest
import storm

ROUNDS = int(os.environ.get("SOAK_KILLS", "300"))


@pytest.mark.parametrize("victims", storm.VICTIMS, ids="+".join)
def test_nothing_acknowledged_is_lost(service, victims):
    storm.run(service("--private"), ROUNDS, seed=1, kinds=(victims,))
