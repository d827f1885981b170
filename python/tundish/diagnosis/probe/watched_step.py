"""One step of the watched loop."""

from __future__ import annotations

from dataclasses import dataclass, field

from .clocks.step_ledger import Mark


@dataclass
class WatchedStep:
    phase: str
    seconds: dict[str, float]
    batches: int
    optimizer_steps: int
    # Whether the step is excluded from the figures, because an epoch began or ended in it, or because
    # it got no cached batch in the phase "cached".
    boundary: bool
    cpu_s: float  # CPU time of all threads of this process
    marks: list[Mark] = field(default_factory=list)
    gpu: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)  # number of times each part was entered
    fed: int = 0  # batches of the loader that feeds the training
    other_data_s: float = 0.0  # waiting for other loaders

    @property
    def wall(self) -> float:
        return sum(self.seconds.values())
