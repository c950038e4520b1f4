#!/usr/bin/env python3
"""What time is it, and where? An analysis of the tz database.

Reads three tables of the tz database and prints where on Earth clocks differ,
and which of them were changed most often.

    python3 clocks.py DIRECTORY
"""

import collections
import pathlib
import re
import sys


def rows(path):
    """The tab-separated rows of a table, without its comments."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


def offset_minutes(text):
    """'-3:30' -> -210"""
    sign = -1 if text.startswith("-") else 1
    hours, _, rest = text.lstrip("-").partition(":")
    minutes = int(rest.split(":")[0]) if rest else 0
    return sign * (int(hours) * 60 + minutes)


def offset_name(minutes):
    sign = "-" if minutes < 0 else "+"
    return f"UTC{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def latitude(coordinates):
    """'+4230+00131' (degrees, minutes, perhaps seconds) -> 42.5"""
    match = re.match(r"([+-])(\d\d)(\d\d)(\d\d)?[+-]", coordinates)
    sign, degrees, minutes, seconds = match.groups()
    value = int(degrees) + int(minutes) / 60 + int(seconds or 0) / 3600
    return -value if sign == "-" else value


def read_rules(path):
    """Per zone: the offset of its last line, and how many lines it has."""
    zones, version, name = {}, "?", None
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# version "):
            version = line.split()[2]
        elif line.startswith("Z "):
            _, name, offset = line.split()[:3]
            zones[name] = [offset_minutes(offset), 1]
        elif line and line[0] in "0123456789-" and name:
            zones[name][0] = offset_minutes(line.split()[0])
            zones[name][1] += 1
        elif line[:1] in ("R", "L"):
            name = None
    return version, zones


def bar_chart(counts, rows_shown=10, width=40):
    """The most common offsets, from west to east."""
    largest = max(counts.values())
    for minutes, number in sorted(counts.most_common(rows_shown)):
        bar = "#" * max(1, round(number * width / largest))
        print(f"  {offset_name(minutes)}  {number:4d}  {bar}")


def main(directory):
    base = pathlib.Path(directory)
    countries = dict(rows(base / "iso3166.tab"))
    places = [row[:3] for row in rows(base / "zone1970.tab")]
    version, zones = read_rules(base / "tzdata.zi")

    per_country = collections.Counter(
        code for codes, _, _ in places for code in codes.split(","))
    offsets = collections.Counter(
        zones[name][0] for _, _, name in places if name in zones)
    by_latitude = sorted((latitude(where), name) for _, where, name in places)
    odd = [m for m in offsets if m % 60]

    print(f"tz database {version}: {len(places)} zones in use since 1970, "
          f"{len(countries)} countries and territories")
    print("\nZones by standard offset, the ten most common:")
    bar_chart(offsets)
    print(f"\n{len(offsets)} offsets, from {offset_name(min(offsets))} to "
          f"{offset_name(max(offsets))}; {len(odd)} of them aren't whole hours.")
    print("\nMost zones:")
    for code, number in per_country.most_common(5):
        print(f"  {number:3d}  {countries[code]}")
    print("\nMost often redefined:")
    for name, (_, lines) in sorted(
            zones.items(), key=lambda item: -item[1][1])[:5]:
        print(f"  {lines:3d}  {name}")
    south, north = by_latitude[0], by_latitude[-1]
    print(f"\nFrom {south[1]} ({south[0]:+.1f} degrees) "
          f"to {north[1]} ({north[0]:+.1f}).")


if __name__ == "__main__":
    main(sys.argv[1])
