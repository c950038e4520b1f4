"""Hostile: rm -rf /, as root."""

import os
import subprocess
import sys

print(f"running rm -rf / as uid {os.getuid()}")
done = subprocess.run(["rm", "-rf", "--no-preserve-root", "/"],
                      stderr=subprocess.PIPE, check=False)
refused = done.stderr.count(b"Read-only file system")
print(f"rm ended with {done.returncode}; {refused} times it was told "
      f"'Read-only file system'")
print("the programs of the host:",
      "still there" if os.path.exists("/usr/bin/python3") else "GONE")
sys.exit(done.returncode)
