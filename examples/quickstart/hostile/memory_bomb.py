"""Hostile: take all memory."""

import sys

hoard = []
while True:
    hoard.append(bytearray(16 * 1024 * 1024))  # written: really there
    print(f"holding {16 * len(hoard)} MiB")
    sys.stdout.flush()
