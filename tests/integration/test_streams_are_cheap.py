# SPDX-License-Identifier: Apache-2.0
"""Hundreds of clients that follow commands: nothing late, lost, or kept.

tests/bench/streams.py has the full numbers; here are those that hold on a busy
machine, too.
"""

import sys

import osb
import pytest

sys.path.append(str(osb.ROOT / "tests/bench"))

import streams  # noqa: E402

pytestmark = pytest.mark.memory


def test_five_hundred_for_ten_seconds():
    line = streams.main(sandboxes=20, followers=25, seconds=10)
    assert line["streams"] == 500
    assert line["lost"] == 0
    # A second or two of one program's, where others need the processors.
    assert line["events"] >= 20 * 25 * 8
    assert line["late"] <= line["events"] // 100
    before, during, after = line["osbd_fds"]
    assert during - before <= 500 + 2 * 20, "followers share a log"
    assert after <= before
    assert line["vanished_ms"] < 2000
    assert line["osbd_core"] < 0.25
