"""What to change, best first, each with the step that it would give."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .cause import Cause, more_workers
from .figures import COMPUTE, Figures
from .line_costs import LEAST_SAMPLES, is_loop_header, line_costs, place_text, shown
from .loading import Loading
from .phrases import count_text

MOST_BLOCKED_WORKERS = 16
MOST_UNMEASURED_WORKERS = 4
LEAST_GAIN = 0.03  # of the step; less is not worth a line
EXACT = (
    0.10  # so far a prediction may be off; within it, a bound is not better than a predicted step
)


@dataclass(frozen=True)
class Change:
    what: str
    how: str  # the command, or the line to write
    predicted_s: float | None  # None: something else measures it
    at_best: bool = False  # the step cannot become shorter than that; it may stay longer
    apply: str = ""  # how `--apply` tries it (probe/applied/); empty: only an edit can

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
    """The shortest predicted step first, those without a prediction last. A step that is reached *at best* must be
    shorter by more than predictions are exact."""

    def place(one: Change) -> tuple[bool, float]:
        return one.predicted_s is None, (one.predicted_s or 0.0) * (1 + EXACT * one.at_best)

    return sorted(changes, key=place)


def _of_loading(
    facts: dict[str, Any], figures: Figures, inside: Loading | None, cause: Cause
) -> list[Change]:
    loader = facts["loader"]
    if figures.share("data") < LEAST_GAIN or loader is None:
        return []
    if inside is None:
        return [*_of_tundish(facts, figures), *_of_unknown_batches(facts)]
    ceiling, out = figures.ceiling_s, []
    # Cached batches also free the CPUs that loading uses. More workers do not, and a cheaper function only its own time.
    rest = figures.step_s - figures.parts["data"]
    workers = more_workers(figures, inside) or _best_workers(figures, inside)
    if workers > inside.workers:
        out.append(
            Change(
                f"{count_text(workers, 'worker process', 'es')} instead of {inside.workers}",
                f"DataLoader(..., num_workers={workers}, persistent_workers=True)",
                max(rest, inside.step_with(workers, ceiling, 0.0, figures.ceiling_cpu_s)),
                apply=f"workers={workers}",
            )
        )
    for row in inside.rows[:3]:
        if row["s"] < LEAST_GAIN * inside.batch_s:
            continue
        if row["stage"] in ("transform", "dataset", "storage"):
            word = {"storage": "read faster, or once", "transform": "a cheaper transform"}
            out.append(
                Change(
                    f"{word.get(row['stage'], 'cheaper code')}: {row['name']} takes "
                    f"{row['s'] * 1e3:.1f} ms per batch of one worker",
                    shown(row["file"], row["line"]) if row["file"] else f"change {row['name']}",
                    max(rest - row["s"], inside.step_with(inside.workers, ceiling, row["s"])),
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
    most = inside.most_workers
    if inside.mostly_waits:
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


def _of_unknown_batches(facts: dict[str, Any]) -> list[Change]:
    """Of torch's DataLoader whose script ended before the data set could be looked into."""
    loader = facts["loader"]
    if loader["kind"] != "torch" or loader.get("num_workers") != 0 or facts["cpus"] < 2:
        return []
    workers = min(facts["cpus"], MOST_UNMEASURED_WORKERS)
    what = f"{workers} worker processes instead of 0"
    how = f"DataLoader(..., num_workers={workers}, persistent_workers=True)"
    return [Change(what, how, None, apply=f"workers={workers}")]


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
    """Lines of the loop, outside the model, by the samples of the profiled steps (lines.py)."""
    out = []
    for (file, line, _), cost in line_costs(facts, figures).items():
        enough = cost.samples_outside >= LEAST_SAMPLES
        if not enough or is_loop_header(cost.first):
            continue
        if cost.outside_s >= LEAST_GAIN * figures.step_s:
            columns = (cost.first["column"], cost.first["end_column"])
            out.append(
                Change(
                    f"{place_text(cost.first)} takes {cost.outside_s * 1e3:.1f} ms of every step outside the model",
                    shown(file, line, columns),
                    figures.step_s - cost.outside_s,
                    at_best=True,
                )
            )
    return sort_changes(out)[:5]


def _of_the_model(facts: dict[str, Any], figures: Figures) -> list[Change]:
    if figures.share(*COMPUTE) < 0.2:
        return []
    return [
        Change(
            "a faster step of the model: precision, memory format, compilation",
            f"tundish tune {facts.get('script') or 'train.py'}:build, where build() returns model, optimizer, "
            "loss and batch (docs/tune.md)",
            None,
        )
    ]
