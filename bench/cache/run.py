"""How often is a sample found in a cache that holds part of the data? Ours against LRU.

This benchmark counts hits and measures no times. cache.cpp goes through the samples in the order of a
loader and looks up each one in every cache. The first epoch fills the caches and does not count. The
exit code is 1 unless our cache is best at every size.
"""

from __future__ import annotations

import json
import subprocess
import sys

from tundish.report.curves import curve_chart

from ..common.rows import ROOT, Rows, arguments, table

PROGRAM = ROOT / "build" / "release" / "bench_cache"
COUNT, EPOCHS = 5000, 5
# (world size, spread of the sample sizes). A spread of 0.5 is typical of photos on the web.
CASES = {
    "samples of one size": (1, 0.0),
    "sizes as of photos": (1, 0.5),
    "one rank of four": (4, 0.5),
}
OURS, LRU = "known order", "LRU"


def main() -> int:
    options = arguments(__doc__.splitlines()[0], rounds=1).parse_args()
    rows = Rows("cache")
    print(f"{COUNT:,} samples, {EPOCHS} epochs; hit rate in percent\n{rows.heading()}\n")
    panels, behind = {}, 0
    for case, (world, spread) in CASES.items():
        words = [PROGRAM, str(COUNT), str(EPOCHS), str(world), str(spread)]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE)
        points = json.loads(done.stdout)
        panels[case] = {
            name: [(p["percent"], 100 * p[name]) for p in points] for name in (OURS, LRU)
        }
        lines = []
        for point in (p for p in points if p["percent"] % 5 == 0):
            more = {"case": case, "percent": point["percent"]}
            for name in (OURS, LRU):
                rows.add(name, "hit rate", [point[name]], "share", **more)
            lines.append(
                [f"{point['percent']} %", f"{100 * point[OURS]:.2f}", f"{100 * point[LRU]:.2f}"]
            )
        least = min(points, key=lambda p: p[OURS] - p[LRU])
        rows.add(OURS, "least lead", [least[OURS] - least[LRU]], "share", case=case)
        behind += sum(p[OURS] <= p[LRU] for p in points)
        print(table([case, OURS, LRU], lines))
        print(
            f"least lead of every percent from 5 to 95: {100 * (least[OURS] - least[LRU]):.2f} "
            f"points, at {least['percent']} %\n"
        )
    chart = curve_chart(
        panels,
        OURS,
        "hit rate of a cache by its size",
        "size of the cache, % of the data",
        "samples found in the cache, %",
    )
    rows.write(options.out, chart)
    return 1 if behind else 0


if __name__ == "__main__":
    sys.exit(main())
