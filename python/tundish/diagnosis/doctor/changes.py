"""What to change, best first, each with the step that it would give."""

from __future__ import annotations

import linecache
import os
from dataclasses import asdict, dataclass
from typing import Any

from .cause import Cause, more_workers, place_text
from .figures import COMPUTE, Figures
from .loading import Loading

MOST_BLOCKED_WORKERS = 16
LONGEST_CODE = 80
LEAST_GAIN = 0.03  # of the step; less is not worth a line


@dataclass(frozen=True)
class Change:
    what: str
    how: str  # the command, or the line to write
    predicted_s: float | None  # None: something else measures it
    at_best: bool = False  # the step cannot become shorter than that; it may stay longer
    apply: str = ""  # how `--apply` tries it (watch/applied.py); empty: only an edit can

    def as_json(self, step_s: float) -> dict[str, Any]:
        gain = step_s / self.predicted_s if self.predicted_s else None
        return {**asdict(self), "gain": gain}


def find_changes(
    facts: dict[str, Any], figures: Figures, inside: Loading | None, cause: Cause
) -> list[Change]:
    found = [
        *_of_loading(facts, figures, inside, cause),
        *_of_copies(facts, figures),
        *_of_lines(facts, figures),
        *_of_the_model(facts, figures),
    ]
    step = figures.step_s
    worth = [
        one
        for one in found
        if one.predicted_s is None or one.predicted_s <= step * (1 - LEAST_GAIN)
    ]
    return sort_changes(worth)


def sort_changes(changes: list[Change]) -> list[Change]:
    """The shortest predicted step first, those without a prediction last."""
    return sorted(changes, key=lambda one: (one.predicted_s is None, one.predicted_s or 0.0))


def _of_loading(
    facts: dict[str, Any], figures: Figures, inside: Loading | None, cause: Cause
) -> list[Change]:
    loader = facts["loader"]
    if figures.share("data") < LEAST_GAIN or loader is None:
        return []
    if inside is None:
        return _of_tundish(facts, figures)
    ceiling, out = figures.ceiling_s, []
    workers = more_workers(figures, inside) or _best_workers(figures, inside)
    if workers > inside.workers:
        out.append(
            Change(
                f"{workers} worker processes instead of {inside.workers}",
                f"DataLoader(..., num_workers={workers}, persistent_workers=True)",
                inside.step_with(workers, ceiling, 0.0, figures.ceiling_cpu_s),
                apply=f"workers={workers}",
            )
        )
    for row in inside.rows[:3]:
        if row["stage"] in ("transform", "dataset", "storage"):
            word = {"storage": "read faster, or once", "transform": "a cheaper transform"}
            out.append(
                Change(
                    f"{word.get(row['stage'], 'cheaper code')}: {row['name']} takes "
                    f"{row['s'] * 1e3:.1f} ms per batch of one worker",
                    f"change {row['name']}",
                    inside.step_with(inside.workers, ceiling, row["s"]),
                    at_best=True,
                )
            )
    engine = loader.get("engine")
    if engine and engine["native"]:
        how = "loader = tundish.accelerate(loader)"
        what = f"Tundish's engine makes the batches, {engine['batch_s'] * 1e3:.1f} ms each"
        predicted = _with_engine(facts, figures, engine["batch_s"])
        out.append(Change(what, how, predicted, apply="accelerate"))
    elif engine is None and loader.get("dataset", "").startswith(("torchvision.", "timm.")):
        how = "loader = tundish.accelerate(loader)"
        what = "Tundish's engine makes the batches"
        out.append(Change(what, how, ceiling, at_best=True, apply="accelerate"))
    elif inside.slowest() in ("storage", "decode"):
        how = 'tundish.pack(dataset, "train.tnd"); loader = tundish.Loader("train.tnd", ...)'
        out.append(Change("the samples packed once, and loaded by Tundish", how, None))
    return out


def _best_workers(figures: Figures, inside: Loading) -> int:
    """The fewest that come near the best step. Processes that wait for a disk may outnumber the CPUs."""
    most = max(2, inside.cpus)
    if inside.blocked_s > inside.batch_s / 2:
        most = min(4 * most, max(most, MOST_BLOCKED_WORKERS))
    cpu = figures.ceiling_cpu_s
    counts = range(1, most + 1)
    steps = {count: inside.step_with(count, figures.ceiling_s, 0.0, cpu) for count in counts}
    best = min(steps.values())
    return next(count for count, step in steps.items() if step <= 1.05 * best)


def _with_engine(facts: dict[str, Any], figures: Figures, batch_s: float) -> float:
    """The engine needs all CPUs for `batch_s` per batch; training needs some of them meanwhile."""
    cpus: int = facts["cpus"]
    return max(figures.ceiling_s, batch_s + figures.ceiling_cpu_s / cpus)


def _of_tundish(facts: dict[str, Any], figures: Figures) -> list[Change]:
    """Of tundish.Loader: threads, if CPUs are left for them. threads="auto" has found its own number."""
    if facts["loader"].get("auto_threads"):
        return []
    threads = int((facts["loader"].get("stats") or {}).get("data/threads", 0))
    if not 0 < threads < facts["cpus"]:
        return []
    predicted = max(figures.ceiling_s, figures.step_s * threads / facts["cpus"])
    how = f"tundish.Loader(..., threads={facts['cpus']})"
    return [Change(f"{facts['cpus']} threads instead of {threads}", how, predicted)]


def _of_copies(facts: dict[str, Any], figures: Figures) -> list[Change]:
    loader = facts["loader"] or {}
    if figures.share("copy") < LEAST_GAIN:
        return []
    how = "x = x.to(device, non_blocking=True)"
    if not loader.get("pin_memory"):
        how = "DataLoader(..., pin_memory=True); " + how
    predicted = figures.step_s - figures.parts["copy"]
    return [Change("copies from pinned memory, ahead of the step", how, predicted, at_best=True)]


def _of_lines(facts: dict[str, Any], figures: Figures) -> list[Change]:
    """Lines of the loop, outside the model, by the samples of the profiled steps."""
    total = sum(one["share"] for one in facts["lines"] if one["part"] == "other")
    out = []
    for one in facts["lines"]:
        if one["part"] != "other":
            continue
        seconds = figures.parts["other"] * one["share"] / total
        if seconds >= LEAST_GAIN * figures.step_s:
            out.append(
                Change(
                    f"{place_text(one)} takes {seconds * 1e3:.1f} ms of every step outside the model",
                    _shown(one["file"], one["line"]),
                    figures.step_s - seconds,
                    at_best=True,
                )
            )
    return out[:5]


def _shown(file: str, line: int) -> str:
    """With its code; relative to the folder we are in, if the file is below it."""
    here = os.getcwd() + os.sep
    code = linecache.getline(file, line).strip()[:LONGEST_CODE]
    return f"{file.removeprefix(here)}:{line}" + (f"  {code}" if code else "")


def _of_the_model(facts: dict[str, Any], figures: Figures) -> list[Change]:
    if figures.share(*COMPUTE) < 0.2:
        return []
    return [
        Change(
            "a faster step of the model: precision, memory format, compilation",
            f"tundish tune {facts.get('script') or 'train.py'}:build",
            None,
        )
    ]
