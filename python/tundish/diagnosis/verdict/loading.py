"""A model of the data loader: the time of its stages, and predicted step times with other settings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..probe.facts import Facts
from .figures import Figures

# Maps the kind of a profiled row to a stage of the verdict.
_STAGES = {"read": "storage", "decode": "decode", "transform": "transform", "other": "dataset"}
SCALED_FROM = 0.1  # times are scaled to the observed rate if the loop waits for at least this share
MOST_SCALED = 4.0  # larger factors have other causes, such as files that have since been cached
STAGES = ("storage", "decode", "transform", "dataset", "collate")


@dataclass(frozen=True)
class LoadingRow:
    """A function of the loader, with its seconds per batch. `stage` is one of STAGES."""

    name: str
    stage: str
    s: float
    file: str  # the user's file that calls it; empty if an installed package does
    line: int


@dataclass(frozen=True)
class Loading:
    """The seconds that one process needs to load one batch, by stage."""

    stages: dict[str, float]
    blocked_s: float  # time waiting for a disk or the network, but not for a CPU
    workers: int
    cpus: int
    rows: list[LoadingRow]  # functions, slowest first
    overlap_s: float = 0.0  # time in which the training process loads data while the GPU works

    @property
    def batch_s(self) -> float:
        return sum(self.stages.values())

    @property
    def most_workers(self) -> int:
        """The largest useful number of workers: one per CPU, but at least two if they mostly wait."""
        return max(2, self.cpus) if self.mostly_waits else self.cpus

    @property
    def mostly_waits(self) -> bool:
        return self.blocked_s > self.batch_s / 2

    def slowest(self) -> str:
        return max(STAGES, key=lambda stage: self.stages[stage])

    def step_with(
        self, workers: int, ceiling_s: float, without_s: float = 0.0, training_cpu_s: float = 0.0
    ) -> float:
        """Predicts the seconds of a step with this number of workers.

        Each worker loads one batch at a time. Loading and training share the CPUs.
        """
        batch = max(0.0, self.batch_s - without_s)
        if workers == 0:
            return ceiling_s + max(0.0, batch - self.overlap_s)
        cpu = max(0.0, batch - self.blocked_s)
        shared = (cpu + training_cpu_s) / self.cpus
        return max(ceiling_s, batch / workers, cpu / min(workers, self.cpus), shared)

    def top_row(self, stage: str) -> LoadingRow | None:
        return next((row for row in self.rows if row.stage == stage), None)


def loading(facts: Facts, figures: Figures) -> Loading | None:
    """Returns a model of the run's loader, or None if the loader could not be inspected.

    If the loop waits for data, the times are scaled to the observed rate of batches.
    """
    found = _sampled(facts)
    if found is None or figures.share("data") < SCALED_FROM or not found.batch_s:
        return found
    seen, overlap = figures.step_s, 0.0
    if found.workers == 0:
        waited = figures.parts["data"]  # if times are GPU times, the time that the GPU waits
        seen = figures.host_parts["data"] if figures.clock == "gpu" else waited
        overlap = max(0.0, seen - waited)
    factor = seen / found.step_with(found.workers, 0.0)
    factor = min(MOST_SCALED, max(1 / MOST_SCALED, factor))
    return Loading(
        {stage: s * factor for stage, s in found.stages.items()},
        found.blocked_s * factor,
        found.workers,
        found.cpus,
        [replace(row, s=row.s * factor) for row in found.rows],
        overlap,
    )


def _sampled(facts: Facts) -> Loading | None:
    loader = facts.loader
    if loader is None or loader.samples is None:
        return None
    samples = loader.samples
    size = samples.batch_size or loader.batch_size or 1
    stages = dict.fromkeys(STAGES, 0.0)
    rows = []
    for row in samples.rows:
        stage = _STAGES[row.kind]
        large = row.s > 0.05 * samples.sample_s
        if stage == "dataset" and large and row.blocked_s > row.s / 2:
            stage = "storage"  # an unknown function that mostly waits
        stages[stage] += row.s * size
        if row.kind == "other" and not row.file:
            continue  # a function of a library or of Python, which the user cannot change
        rows.append(LoadingRow(row.name, stage, row.s * size, row.file, row.line))
    rest = samples.sample_s - sum(row.s for row in samples.rows)
    blocked = samples.blocked_s - sum(row.blocked_s for row in samples.rows)
    rest = max(0.0, rest)
    stages["storage" if blocked > rest / 2 else "dataset"] += rest * size
    stages["collate"] = samples.collate_s
    return Loading(stages, samples.blocked_s * size, loader.num_workers or 0, facts.cpus, rows)
