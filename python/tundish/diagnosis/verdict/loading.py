"""A model of the data loader: the time of its stages, and predicted step times with other settings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..probe.facts import Facts
from .figures import Figures

# Maps the kind of a profiled row to a stage of the verdict.
_STAGES = {"read": "storage", "decode": "decode", "transform": "transform", "other": "dataset"}
SCALED_FROM = 0.1  # least share of waiting for scaling to the observed rate
MOST_SCALED = 4.0  # larger factors have other causes, such as files that are now in memory
# A loop that takes a batch from a worker process reads a queue and opens each tensor's shared memory.
HANDOVER_S, TENSOR_HANDOVER_S = 0.05e-3, 0.25e-3
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
    overlap_s: float = 0.0  # part of a step's loading by the loop's own process while the GPU works
    batches: float = 1.0  # per step: several with gradient accumulation
    handover_s: float = (
        0.0  # of a step's batches from a worker to the loop; 0 on a GPU: it overlaps
    )

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

        `ceiling_s`: the step without the loading. Each worker loads one batch at a time. The CPUs limit the total CPU work of loading and
        training.
        """
        loading_s = self.batches * max(0.0, self.batch_s - without_s)
        if workers == 0:
            return ceiling_s + max(0.0, loading_s - self.overlap_s)
        cpu = max(0.0, loading_s - self.batches * self.blocked_s)
        shared = (cpu + training_cpu_s) / self.cpus
        least_s = ceiling_s + self.handover_s
        return max(least_s, loading_s / workers, cpu / min(workers, self.cpus), shared)

    def top_row(self, stage: str) -> LoadingRow | None:
        return next((row for row in self.rows if row.stage == stage), None)


def loading(facts: Facts, figures: Figures) -> Loading | None:
    """Returns a model of the run's loader, or None if the loader could not be inspected.

    If the loop waits for data, the times are scaled to the observed rate of batches.
    """
    found = _sampled(facts, figures.batches, figures.clock == "gpu")
    if found is None or figures.share("data") < SCALED_FROM or not found.batch_s:
        return found
    seen, overlap = figures.step_s - figures.other_data_s, 0.0
    if found.workers == 0:
        # on the GPU's clock: the GPU's waiting time
        waited = figures.parts["data"] - figures.other_data_s
        seen = figures.host_parts["data"] if figures.clock == "gpu" else waited
        overlap = max(0.0, seen - waited)
    factor = seen / found.step_with(found.workers, 0.0)
    factor = min(MOST_SCALED, max(1 / MOST_SCALED, factor))
    return replace(
        found,
        stages={stage: s * factor for stage, s in found.stages.items()},
        blocked_s=found.blocked_s * factor,
        rows=[replace(row, s=row.s * factor) for row in found.rows],
        overlap_s=overlap,
    )


def _sampled(facts: Facts, batches: float = 1.0, on_gpu: bool = False) -> Loading | None:
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
    handover_s = batches * (HANDOVER_S + samples.tensors * TENSOR_HANDOVER_S)
    return Loading(
        stages,
        samples.blocked_s * size,
        loader.num_workers or 0,
        facts.cpus,
        rows,
        batches=batches,
        handover_s=0.0 if on_gpu else handover_s,
    )
