# SPDX-License-Identifier: Apache-2.0
"""The shortest life that can be asked for, in full."""

import time


def test_a_sandbox_expires(daemon):
    box = daemon.api().create(timeout=60)
    time.sleep(58)
    assert box.get().status == 200
    time.sleep(4)
    assert box.get().status == 404
