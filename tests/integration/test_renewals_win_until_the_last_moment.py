# SPDX-License-Identifier: Apache-2.0
"""A renewal in the last moment holds, though osbd and broker are killed."""

import renewals


def test_what_was_acknowledged_is_kept_to_a_second(service):
    daemon = service(
        "--private", config=renewals.BROKER_CONF, osbd_config=renewals.OSBD_CONF
    )
    in_time = renewals.storm(daemon, 50, spacing=0.02)
    assert in_time >= 10, "this host answers too late to say anything"
