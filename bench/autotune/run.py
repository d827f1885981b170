"""Does threads="auto" find the best number of threads? Three loads, a changed affinity and quota.

One process (autotune.cpp) runs every load with "auto" and with fixed numbers of threads. They take
turns in short time slices, so that a slow moment of the machine affects all of them. The best fixed
number is the one with the highest median over all slices. A share is the rate of "auto" divided by the
rate of the best fixed number in the same turn. Times count only the seconds in which "auto" ran.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from ..common.images import prepare
from ..common.rows import ROOT, Rows, arguments, say, table
from .control_group import control_group, inside

PROGRAM = ROOT / "build" / "release" / "bench_autotune"
SLICE_S, BATCH, SETTLED_S = 1.5, 32, 5.0
BAR, LATER_BAR = 0.95, 0.90
Run = dict[str, Any]


@dataclass(frozen=True)
class Load:
    size: int  # side of the crops in pixels
    counts: str
    latency_ms: float = 0
    reads: int = 0
    step_share: float = 0  # duration of a training step, relative to one thread's time per batch
    about: str = ""


def loads(cpus: int) -> dict[str, Load]:
    few = ",".join(str(n) for n in sorted({1, cpus // 2 or 1, cpus, 2 * cpus, 4 * cpus}))
    return {
        "decode-bound": Load(224, few, about="batches are taken as fast as they come"),
        "storage-bound": Load(
            64, "2,8,16,24,32,48,64", 20, 32, about="a read takes 20 ms, 32 are served at once"
        ),
        "trainer-bound": Load(
            224,
            few,
            step_share=2.0,
            about="a step on the CPU as long as one thread needs for two batches",
        ),
    }


def start(
    pack: str, load: Load, slices: int, step_ms: float, cpus: str, group: Path | None = None
) -> Run:
    """Starts the program autotune. `cpus` sets its affinity or, with a control group, its quotas."""
    words = [slices, SLICE_S, load.size, load.latency_ms, load.reads, round(step_ms, 3)]
    line = [str(PROGRAM), pack, *map(str, words), load.counts, cpus]
    if group is not None:
        line = inside(group, [*line, str(group)])
    return dict(json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout))


def rates(contestant: Run) -> list[float]:
    return [one["rate"] for one in contestant["slices"]]


def best_fixed(fixed: list[Run], first: int = 0, last: int | None = None) -> Run:
    return max(fixed, key=lambda one: median(rates(one)[first:last]))


def shares(tuned: Run, best: Run) -> list[tuple[float, float]]:
    """Returns (second, share) for each turn of "auto"."""
    pairs = zip(tuned["slices"], best["slices"], strict=True)
    return [(one["at_s"], one["rate"] / other["rate"]) for one, other in pairs]


def fixed_runs(runs: list[Run]) -> list[Run]:
    """Returns one run per fixed number of threads. Merges the rounds, which are all alike."""
    return [
        {
            "threads": one["threads"],
            "slices": [s for run in runs for s in run["contestants"][i + 1]["slices"]],
        }
        for i, one in enumerate(runs[0]["contestants"][1:])
    ]


def report_fixed(rows: Rows, name: str, load: Load, runs: list[Run], fixed: list[Run]) -> None:
    for one in fixed:
        predicted = [run["contestants"][1]["predicted"][str(one["threads"])] for run in runs]
        more = {
            "load": load.about,
            "threads": one["threads"],
            "predicted": round(median(predicted), 1),
        }
        rows.add(f"{name}, threads={one['threads']}", "rate", rates(one), "samples/s", **more)
        say(
            f"  {one['threads']:>3} threads {median(rates(one)):9,.0f}/s, predicted {median(predicted):9,.0f}/s"
        )


def shares_of_best(runs: list[Run], position: int) -> tuple[list[float], list[float]]:
    """Returns the shares before and after the first five seconds."""
    first, later = [], []
    for run in runs:
        tuned = run["contestants"][0]
        found = shares(tuned, run["contestants"][position])
        later += [share for at_s, share in found if at_s >= SETTLED_S]
        first += [share for at_s, share in found if at_s < SETTLED_S]
        say(f"  auto: {', '.join(f'{share:.2f}' for _, share in found)}")
        for change in tuned["tuning"]:
            say(
                f"    {change['at_s']:6.2f} s  {change['from']} -> {change['threads']} threads, {change['prefetch']} open: {change['reason']}"
            )
    return first, later


def lowest_step(runs: list[Run], position: int) -> float:
    """Returns the lowest ratio between two turns of the best fixed number, which shows the noise."""
    of_runs = [rates(run["contestants"][position]) for run in runs]
    return min(now / before for one in of_runs for before, now in pairwise(one))


def report_load(rows: Rows, name: str, load: Load, runs: list[Run]) -> list[str]:
    """Adds the rows of one load and returns its lines of the table."""
    fixed = fixed_runs(runs)
    best = best_fixed(fixed)
    report_fixed(rows, name, load, runs, fixed)
    position = [one["threads"] for one in fixed].index(best["threads"]) + 1
    first, later = shares_of_best(runs, position)
    own = lowest_step(runs, position)
    ends = [run["contestants"][0]["slices"][-1] for run in runs]
    more = {
        "load": load.about,
        "best_threads": best["threads"],
        "ended_with": [one["threads"] for one in ends],
        "ended_with_prefetch": [one["prefetch"] for one in ends],
        "changes": [run["contestants"][0]["tuning"] for run in runs],
    }
    who = f"{name}, auto"
    share = rows.add(who, "share of best fixed after 5 s", later, "share", bar=BAR, **more)
    low = rows.add(
        who,
        "lowest slice after 5 s",
        [min(later)],
        "share",
        bar=LATER_BAR,
        best_from_slice_to_slice=own,
    )
    rows.add(who, "share of best fixed in the first 5 s", first, "share")
    return [
        name,
        f"{best['threads']}: {median(rates(best)):,.0f}/s",
        ", ".join(str(one["threads"]) for one in ends),
        f"{share:.3f}",
        f"{low:.3f}",
        f"{own:.3f}",
    ]


def report_parts(rows: Rows, run: Run, cpus: list[int], names: list[str]) -> list[list[str]]:
    """Reports each third of the slices. Each third ran with another number of CPUs."""
    tuned, fixed = run["contestants"][0], run["contestants"][1:]
    count = len(tuned["slices"])
    lines = []
    for part, number in enumerate(cpus):
        first, last = part * count // len(cpus), (part + 1) * count // len(cpus)
        best = best_fixed(fixed, first, last)
        found = shares(tuned, best)[first:last]
        begin = found[0][0]
        late = [share for at_s, share in found if at_s - begin >= SETTLED_S]
        threads = tuned["slices"][last - 1]["threads"]
        more = {"cpus": number, "best_threads": best["threads"], "ended_with": threads}
        name = names[part]
        share = rows.add(name, "share of best fixed after 5 s", late, "share", bar=BAR, **more)
        say(f"  {name}: {', '.join(f'{share:.2f}' for _, share in found)}")
        lines.append(
            [name, str(best["threads"]), str(threads), f"{share:.3f}", f"{min(late):.3f}", ""]
        )
    for change in tuned["tuning"]:
        say(
            f"    {change['at_s']:6.2f} s  {change['from']} -> {change['threads']}: {change['reason']}"
        )
    return lines


def change_affinity(rows: Rows, pack: str, slices: int, cpus: int) -> list[list[str]]:
    parts = [cpus, max(1, cpus // 2), cpus]
    say(f"affinity of {', '.join(map(str, parts))} CPUs, decode-bound")
    counts = ",".join(map(str, sorted({*parts, 1})))
    run = start(pack, Load(224, counts), slices, 0, ",".join(map(str, parts)))
    names = [f"{number} CPUs, the {part}. part" for part, number in enumerate(parts, 1)]
    return report_parts(rows, run, parts, names)


def change_quota(rows: Rows, pack: str, slices: int, cpus: int) -> list[list[str]]:
    half = max(1, cpus // 2)
    with control_group() as (group, about):
        if group is None:
            say(f"a changed quota is left out: {about}")
            rows.note("quota", "share of best fixed after 5 s", about)
            return []
        say(f"a quota of no, {half} and no CPUs, control group of {about}, decode-bound")
        counts = ",".join(map(str, sorted({1, half, cpus})))
        run = start(pack, Load(224, counts), slices, 0, f"0,{half},0", group)
    limits = ["no quota", f"quota of {half} CPUs", "no quota"]
    names = [f"{limit}, the {part}. part ({about})" for part, limit in enumerate(limits, 1)]
    return report_parts(rows, run, [cpus, half, cpus], names)


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=2)
    parser.add_argument("--slices", type=int, default=12, help="of each contestant and round (12)")
    parser.add_argument("--only", default="", help="a load, affinity, or quota")
    options = parser.parse_args()
    work = options.work or ROOT / "build" / "bench" / "autotune"
    rows = Rows("autotune")
    images = prepare(options.data, work, 8 * BATCH, 0, codecs=["lanes"])
    rows.set_data(images.about, images.name, images.digest)
    cpus = len(os.sched_getaffinity(0))
    pack, all_loads = str(images.pack), loads(cpus)
    one_thread = start(pack, Load(224, "1"), 2, 0, str(cpus))["contestants"][1]
    batch_ms = 1000 * BATCH / median(rates(one_thread))
    lines = []
    for name, load in all_loads.items():
        if options.only not in ("", name):
            continue
        say(f"{name}: {load.about}")
        step_ms = load.step_share * batch_ms
        runs = [
            start(pack, load, options.slices, step_ms, str(cpus)) for _ in range(options.rounds)
        ]
        lines.append(report_load(rows, name, load, runs))
    if options.only in ("", "affinity") and cpus > 1:
        lines += change_affinity(rows, pack, 3 * options.slices, cpus)
    if options.only in ("", "quota") and cpus > 1:
        lines += change_quota(rows, pack, 3 * options.slices, cpus)
    print(f"batches of {BATCH} on {cpus} CPUs; {images.about}\n{rows.heading()}\n")
    head = [
        "load",
        "best fixed",
        "auto ended with",
        "share after 5 s",
        "lowest slice",
        "best, slice to slice",
    ]
    print(table(head, lines))
    rows.write(options.out)


if __name__ == "__main__":
    main()
