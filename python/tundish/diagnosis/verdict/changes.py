"""Proposes changes to the script, best first, each with the predicted step time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..doctor_json import ChangeJson
from ..phrases import count_text
from ..probe.facts import Facts, LoaderFacts
from .cause import Cause, saved_share, sufficient_workers
from .figures import COMPUTE, Figures
from .line_costs import LEAST_SAMPLES, is_loop_header, line_costs, line_text, shown
from .loading import Loading

MOST_BLOCKED_WORKERS = 16
MOST_UNMEASURED_WORKERS = 4
LEAST_GAIN = 0.03  # smallest gain to report, as a fraction of the step
GRAPH_GAP_S = 1e-6  # time between consecutive kernels of a CUDA graph
EXACT = 0.10  # relative accuracy of predictions; a lower bound must be smaller by more than this


@dataclass(frozen=True)
class Change:
    what: str
    how: str  # the command to run, or the line to write
    predicted_s: float | None  # None if only another tool can measure it
    at_best: bool = False  # whether predicted_s is only a lower bound
    apply: str = ""  # value for `--apply` (probe/applied/); empty if the change needs an edit

    def as_json(self, step_s: float) -> ChangeJson:
        gain = step_s / self.predicted_s if self.predicted_s else None
        values: Any = {**asdict(self), "gain": gain}
        return values  # type: ignore[no-any-return]


def find_changes(
    facts: Facts, figures: Figures, inside: Loading | None, cause: Cause
) -> list[Change]:
    found = [
        *_loading_changes(facts, figures, inside, cause),
        *_copy_changes(facts, figures),
        *_line_changes(facts, figures),
        *_model_changes(facts, figures),
    ]
    step = figures.step_s
    significant = [
        change
        for change in found
        if change.predicted_s is None or change.predicted_s <= step * (1 - LEAST_GAIN)
    ]
    return sort_changes([*significant, *_gpu_changes(facts, figures, cause)])


def sort_changes(changes: list[Change]) -> list[Change]:
    """Sorts changes by predicted step time. Changes without a prediction come last.

    A lower bound (`at_best`) precedes another prediction only if it is clearly shorter.
    """

    def sort_key(change: Change) -> tuple[bool, float]:
        return change.predicted_s is None, (change.predicted_s or 0.0) * (
            1 + EXACT * change.at_best
        )

    return sorted(changes, key=sort_key)


def _loading_changes(
    facts: Facts, figures: Figures, inside: Loading | None, cause: Cause
) -> list[Change]:
    loader = facts.loader
    if figures.share("data") < LEAST_GAIN or loader is None:
        return []
    if inside is None:
        return [
            *_tundish_changes(facts, loader, figures),
            *_unprofiled_loader_changes(facts, loader),
        ]
    ceiling, out = figures.without_loader_s, []
    # Cached batches also free the CPUs used for loading. More workers do not free CPUs, and a
    # cheaper function frees only its own time.
    rest = figures.step_s - figures.parts["data"] + figures.other_data_s
    workers = sufficient_workers(figures, inside) or _best_workers(figures, inside)
    if workers > inside.workers:
        out.append(
            Change(
                f"{count_text(workers, 'worker process', 'es')} instead of {inside.workers}",
                _workers_line(loader, workers),
                max(rest, inside.step_with(workers, ceiling, 0.0, figures.ceiling_cpu_s)),
                apply=f"workers={workers}",
            )
        )
    for row in inside.rows[:3]:
        if row.s < LEAST_GAIN * inside.batch_s:
            continue
        if row.stage in ("transform", "dataset", "storage"):
            verbs = {"storage": "read faster, or only once", "transform": "a cheaper transform"}
            out.append(
                Change(
                    f"{verbs.get(row.stage, 'cheaper code')}: {row.name} takes "
                    f"{row.s * 1e3:.1f} ms per batch of one worker",
                    shown(row.file, row.line) if row.file else f"change {row.name}",
                    max(
                        rest - inside.batches * row.s,
                        inside.step_with(inside.workers, ceiling, row.s),
                    ),
                    at_best=True,
                )
            )
    engine = loader.engine
    if engine is not None and engine.batch_s is not None:
        how = "loader = tundish.accelerate(loader)"
        what = f"Tundish's engine produces the batches, {engine.batch_s * 1e3:.1f} ms each"
        predicted = _with_engine(facts, figures, engine.batch_s)
        out.append(Change(what, how, predicted, apply="accelerate"))
    elif engine is None and (loader.dataset or "").startswith(("torchvision.", "timm.")):
        how = "loader = tundish.accelerate(loader)"
        what = "Tundish's engine produces the batches"
        out.append(Change(what, how, ceiling, at_best=True, apply="accelerate"))
    elif inside.slowest() in ("storage", "decode"):
        how = 'tundish.pack(dataset, "train.tnd"); loader = tundish.Loader("train.tnd", ...)'
        out.append(Change("pack the samples once and load them with Tundish", how, None))
    return out


def _workers_line(loader: LoaderFacts, workers: int) -> str:
    line = f"DataLoader(..., num_workers={workers}, persistent_workers=True)"
    if not loader.undivided:
        return line
    return (
        f"{line}, after the IterableDataset divides its samples among the workers "
        "(torch.utils.data.get_worker_info()): now each worker would return all of them"
    )


def _best_workers(figures: Figures, inside: Loading) -> int:
    """Returns the smallest number of workers that comes close to the best step time.

    If the workers mostly wait for a disk, there may be more workers than CPUs.
    """
    most = inside.most_workers
    if inside.mostly_waits:
        most = min(4 * most, max(most, MOST_BLOCKED_WORKERS))
    cpu = figures.ceiling_cpu_s
    counts = range(1, most + 1)
    ceiling = figures.without_loader_s
    steps = {count: inside.step_with(count, ceiling, 0.0, cpu) for count in counts}
    best = min(steps.values())
    return next(count for count, step in steps.items() if step <= 1.05 * best)


def _with_engine(facts: Facts, figures: Figures, batch_s: float) -> float:
    """Predicts the step time with Tundish's engine.

    The engine needs all CPUs for `batch_s` per batch, and training needs CPU time too.
    """
    loading_s = figures.batches * batch_s
    return max(figures.without_loader_s, loading_s + figures.ceiling_cpu_s / facts.cpus)


def _tundish_changes(facts: Facts, loader: LoaderFacts, figures: Figures) -> list[Change]:
    """Suggests more threads for a tundish.Loader without threads="auto" if CPUs are free."""
    if loader.auto_threads:
        return []
    threads = int((loader.stats or {}).get("data/threads", 0))
    if not 0 < threads < facts.cpus:
        return []
    predicted = max(figures.ceiling_s, figures.step_s * threads / facts.cpus)
    how = f"tundish.Loader(..., threads={facts.cpus})"
    return [Change(f"{facts.cpus} threads instead of {threads}", how, predicted)]


def _unprofiled_loader_changes(facts: Facts, loader: LoaderFacts) -> list[Change]:
    """Suggests workers for a DataLoader whose dataset was not profiled before the script ended."""
    if loader.kind != "torch" or loader.num_workers != 0 or facts.cpus < 2:
        return []
    workers = min(facts.cpus, MOST_UNMEASURED_WORKERS)
    what = f"{workers} worker processes instead of 0"
    how = _workers_line(loader, workers)
    return [Change(what, how, None, apply=f"workers={workers}")]


def _copy_changes(facts: Facts, figures: Figures) -> list[Change]:
    if figures.share("copy") < LEAST_GAIN:
        return []
    how = "x = x.to(device, non_blocking=True)"
    if facts.loader is None or not facts.loader.pin_memory:
        how = "DataLoader(..., pin_memory=True); " + how
    predicted = figures.step_s - figures.parts["copy"]
    return [Change("copy from pinned memory, ahead of the step", how, predicted, at_best=True)]


def _line_changes(facts: Facts, figures: Figures) -> list[Change]:
    """Lists slow lines of the loop outside the model, from the samples of the profiled steps."""
    out = []
    for (file, line, _), cost in line_costs(facts, figures).items():
        enough = cost.samples_outside >= LEAST_SAMPLES
        if not enough or is_loop_header(cost.first):
            continue
        if cost.outside_s >= LEAST_GAIN * figures.step_s:
            columns = (cost.first.column, cost.first.end_column)
            out.append(
                Change(
                    f"{line_text(cost.first)} takes {cost.outside_s * 1e3:.1f} ms per step outside the model",
                    shown(file, line, columns),
                    figures.step_s - cost.outside_s,
                    at_best=True,
                )
            )
    return sort_changes(out)[:5]


def _model_changes(facts: Facts, figures: Figures) -> list[Change]:
    if figures.share(*COMPUTE) < 0.2:
        return []
    return [
        Change(
            "speed up the model: precision, memory format, compilation",
            f"tundish tune {facts.script or 'train.py'}:build, where build() returns model, optimizer, "
            "loss and batch (docs/tune.md)",
            None,
        )
    ]


def _gpu_changes(facts: Facts, figures: Figures, cause: Cause) -> list[Change]:
    """Proposes changes for an idle GPU. A predicted step is never shorter than the GPU's busy time."""
    seen = facts.gpu_profile
    if seen is None or cause.name not in ("sync", "launch"):
        return []
    if cause.name == "sync":
        predicted = figures.step_s * (1 - saved_share(seen))
        how = cause.detail or "tundish check train.py shows the lines"
        what = "do not wait for the GPU in the loop: keep the tensor and read it every 50 steps"
        return [Change(what, how, predicted, at_best=True)]
    gaps = seen.kernels * GRAPH_GAP_S / seen.wall_s
    predicted = figures.step_s * min(1.0, 1 - cause.share + gaps)
    how = f"tundish tune {facts.script or 'train.py'}:build"
    return [
        Change(
            "use fewer, longer kernels: torch.compile, a CUDA graph", how, predicted, at_best=True
        )
    ]
