#!/usr/bin/env python3
"""Tell what `osb run --json` said, and whether it is what we hoped for.

    osb run --json -- ... | show.py VERDICT [--lines N] [--nonzero]
                                    [--hit LIMIT] [--without TEXT]
"""

import argparse
import json
import sys


def story(result):
    """The verdict as a person would say it."""
    said = {
        "exited": "it ended by itself",
        "signaled": f"a signal ended it ({result['signal']})",
        "killed": "it was killed",
        "wall_timeout": "its time was over: killed, with all it had started",
        "oom": "it reached its memory limit: killed",
        "lost": "the sandbox died",
    }[result["verdict"]]
    if result["exit_code"] is not None:
        said += f", exit code {result['exit_code']}"
    return said


def check(result, want):
    """What differs from what we expect, as sentences."""
    output = result["stdout"] + result["stderr"]
    if result["verdict"] != want.verdict:
        yield f"expected the verdict '{want.verdict}'"
    if want.nonzero and result["exit_code"] == 0:
        yield "expected it to fail"
    if not want.nonzero and want.verdict == "exited" and result["exit_code"]:
        yield "expected it to succeed"
    if want.hit and want.hit not in result["limits_hit"]:
        yield f"expected it to hit its limit of {want.hit}"
    if want.without and want.without in output:
        yield "a secret of the caller got in"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("verdict")
    parser.add_argument("--lines", type=int, default=12)
    parser.add_argument("--nonzero", action="store_true")
    parser.add_argument("--hit")
    parser.add_argument("--without")
    want = parser.parse_args()

    text = sys.stdin.read()
    if not text:  # osb failed, and said why on stderr
        return 1
    result = json.loads(text)
    lines = (result["stdout"] + result["stderr"]).splitlines()
    if len(lines) > want.lines:
        print(f"   | ({len(lines) - want.lines} lines)")
    for line in lines[-want.lines:]:
        print("   |", line[:100])
    count = result["peak_pids"]
    print(f"   verdict {result['verdict']}: {story(result)}")
    print(f"   after {result['wall_ms'] / 1000:.2f} s, "
          f"{result['cpu_ms'] / 1000:.2f} s of CPU, "
          f"{result['peak_memory_bytes'] / 2**20:.0f} MiB, "
          f"{count} process{'' if count == 1 else 'es'} at most"
          + (f"; limits hit: {', '.join(result['limits_hit'])}"
             if result["limits_hit"] else ""))
    wrong = list(check(result, want))
    for sentence in wrong:
        print(f"   UNEXPECTED: {sentence}; message: {result['message']}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
