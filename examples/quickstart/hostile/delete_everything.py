"""Hostile: rm -rf /, as root."""

import os
import subprocess
import sys

print(f"running rm -rf / as uid {os.getuid()}")
with subprocess.Popen(["rm", "-rf", "--no-preserve-root", "/"],
                      stderr=subprocess.PIPE) as rm:
    refused = sum(b"Read-only file system" in line for line in rm.stderr)
print(f"rm ended with {rm.returncode}; {refused} times it was told "
      f"'Read-only file system'")
print("the programs of the host:",
      "still there" if os.path.exists("/usr/bin/python3") else "GONE")
sys.exit(rm.returncode)
