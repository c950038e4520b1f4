# SPDX-License-Identifier: Apache-2.0
"""What lies between drops silent connections; a silent command's stays."""

import idle_proxy

import pytest

pytestmark = pytest.mark.plain


def test_its_output_comes_through(service):
    daemon = service(listen=["127.0.0.1:0"])
    idle_proxy.check(daemon, idle_s=5, sleep_s=12)
