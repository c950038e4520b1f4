# SPDX-License-Identifier: Apache-2.0
"""GET /metrics: what Prometheus reads, and that it is true."""

import re

import procs

LINE = re.compile(r'^(osbd_[a-z_]+)(\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? (\S+)$')


def metrics(api):
    """{name with labels: value}; every line must be well-formed."""
    reply = api.get("/metrics")
    assert reply.status == 200, reply
    assert reply.headers["Content-Type"] == "text/plain; version=0.0.4"
    typed, found = set(), {}
    for line in reply.body.decode().splitlines():
        if line.startswith("# TYPE "):
            typed.add(line.split()[2])
        elif not line.startswith("# HELP "):
            name, labels, value = LINE.match(line).groups()
            base = re.sub("_(bucket|sum|count)$", "", name)
            assert name in typed or base in typed, line
            found[name + (labels or "")] = float(value)
    return found


def grown(before, after, name):
    return after.get(name, 0) - before.get(name, 0)


def test_requests_sandboxes_and_execs(service):
    daemon = service(listen=["127.0.0.1:0"])
    api = daemon.tcp()
    before = metrics(api)
    box = api.create()
    with box.exec("sh", "-c", "printf 12345; read x", stdin=True) as running:
        running.wait_started()
        procs.wait_for(lambda: running.receive() and running.stdout == b"12345",
                       5, "its output")  # fmt: skip
        during = metrics(api)
        running.stdin(b"\n")
        running.wait()
    api.get("/nothing")
    api.raw(b"nonsense\r\n\r\n")
    assert box.delete().status == 204
    after = metrics(api)
    assert during['osbd_sandboxes{state="Running"}'] == 1
    assert during["osbd_execs"] == 1 and after["osbd_execs"] == 0
    assert after['osbd_sandboxes{state="Running"}'] == 0
    for name, by in {
        "osbd_execs_total": 1,
        "osbd_output_bytes_total": 5,
        'osbd_requests_total{method="POST",status="2xx"}': 1,
        'osbd_requests_total{method="DELETE",status="2xx"}': 1,
        'osbd_requests_total{method="GET",status="4xx"}': 1,
        'osbd_requests_total{method="GET",status="1xx"}': 1,
        'osbd_requests_total{method="other",status="4xx"}': 1,
    }.items():
        assert grown(before, after, name) == by, name
    assert after["osbd_connections_total"] >= 7
    # The others are closed, which osbd may have to notice yet.
    procs.wait_for(lambda: metrics(api)["osbd_connections"] == 1, 5, "one left")
    count = after["osbd_request_duration_seconds_count"]
    assert count == after['osbd_request_duration_seconds_bucket{le="+Inf"}'] > 5
    assert 0 < after["osbd_request_duration_seconds_sum"] < 60
    bounds = [v for k, v in after.items() if "_bucket" in k]
    assert bounds == sorted(bounds), "cumulative"
    assert 0 < after["osbd_uptime_seconds"] < 600
    assert 1 << 20 < after["osbd_max_resident_bytes"] < 1 << 30
    assert any(k.startswith("osbd_build_info{version=") for k in after)


def test_it_needs_a_key_of_its_own_where_there_are_some(service):
    daemon = service(listen=["127.0.0.1:0"], keys={"ann": "key-a", "metrics": "key-m"})
    assert daemon.tcp().get("/metrics").status == 401
    assert daemon.tcp(key="wrong").get("/metrics").status == 401
    # Sums of what everybody does are no business of one of them.
    assert daemon.tcp(key="key-a").get("/metrics").status == 403
    assert metrics(daemon.tcp(key="key-m"))
