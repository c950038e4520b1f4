# SPDX-License-Identifier: Apache-2.0
"""1,000 renewals in the last moment, then a kill of osbd and broker."""

import renewals


def test_a_thousand(service):
    daemon = service(
        "--private", config=renewals.BROKER_CONF, osbd_config=renewals.OSBD_CONF
    )
    assert renewals.storm(daemon, 1000) >= 200
