# SPDX-License-Identifier: Apache-2.0
"""A command that is silent for minutes, through a proxy that bears a minute."""

import idle_proxy


def test_its_output_comes_through(service):
    daemon = service(listen=["127.0.0.1:0"])
    idle_proxy.check(daemon, idle_s=60, sleep_s=400)
