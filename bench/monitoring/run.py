"""What does monitoring cost? The same loader plain, with stats() at every batch, and with a trace.

The counters behind stats() are always on. They read the clock three times per sample, and twice more
for every strip of one sample in 16. --before CHECKOUT measures their cost, compared with a built
checkout of a commit without counters (f44634c is the last one). "bare again" is the same contestant as
"bare", so its cost shows the noise of the other results.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tundish.report.machine import commit

from ..common.images import prepare
from ..common.rounds import Cost, add_overhead, take_turns
from ..common.rows import ROOT, Rows, arguments, middle, say, table
from .one import STATS, TRACE

BARE, AGAIN, BEFORE = "bare", "bare again", "bare, without counters"


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=15)
    parser.add_argument("--images", type=int, default=6400, help="of a run (6400)")
    parser.add_argument("--threads", type=int, default=1, help="of the loader (1)")
    parser.add_argument(
        "--before", type=Path, help="a built checkout of a commit without counters, to compare with"
    )
    parser.add_argument(
        "--cached", action="store_true", help="do not repeat the set beyond the last-level cache"
    )
    options = parser.parse_args()
    work = options.work or ROOT / "build" / "bench" / "monitoring"
    rows = Rows("monitoring", "numpy")
    images = prepare(options.data, work, 256, 0 if options.cached else None, ["lanes"])
    rows.set_data(images.about, images.name, images.digest)
    names = [BARE, AGAIN, STATS, TRACE]
    if options.before:
        names.append(BEFORE)

    def run(name: str) -> Cost:
        packages = (options.before if name == BEFORE else ROOT) / "python"
        words = [images.pack, name, options.threads, options.images, work / "trace.json.gz"]
        words = [sys.executable, "-m", "bench.monitoring.one", *words]
        environment = os.environ | {"PYTHONPATH": f"{packages.resolve()}{os.pathsep}{ROOT}"}
        done = subprocess.run(
            list(map(str, words)), capture_output=True, text=True, env=environment
        )
        if done.returncode != 0:
            raise SystemExit(f"bench: {name} failed: {done.stderr.strip()}")
        return Cost(**json.loads(done.stdout))

    costs = take_turns(names, options.rounds, run)
    (work / "trace.json.gz").unlink()
    say(f"{options.rounds} interleaved rounds after one that does not count")
    more: dict[str, Any] = {"threads": options.threads}
    lines = []
    for name, taken in costs.items():
        rows.add(name, "time", [one.wall_s for one in taken], "s", **more)
        rows.add(name, "cpu time", [one.cpu_s for one in taken], "s", **more)
        us = [
            f"{1e6 * middle(getattr(one, k) for one in taken)[0]:.2f}" for k in ("wall_s", "cpu_s")
        ]
        lines.append([name, *us, "", ""])
        if name in (BARE, BEFORE):
            continue
        lines[-1][3:] = add_overhead(rows, name, taken, costs[BARE], **more)
    if options.before:
        more["before"] = commit(options.before)
        shown = add_overhead(rows, "counters", costs[BARE], costs[BEFORE], **more)
        lines.append(["bare, to the one without counters", "", "", *shown])
    print(f"page cache warm; {images.about}\n{rows.heading()}\n")
    head = ["what", "us per image", "CPU us", "more time (95 % interval)", "more CPU time"]
    print(table(head, lines))
    rows.write(options.out)


if __name__ == "__main__":
    main()
