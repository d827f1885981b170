"""What the runs of a proof recorded."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class GradientFacts:
    """How far a run's first gradients are from the reference's."""

    errors: dict[str, float]  # relative error by parameter
    norm_ratio: float  # of all gradients together
    cosine: float
    missing: int  # parameters with a gradient in only one of the two runs
    update_norm_ratio: float = 1.0
    update_cosine: float = 1.0


@dataclass(frozen=True)
class RunFacts:
    """One run from the saved start. `kind`: "plain", "nudged", "random" or "changed"."""

    kind: str
    losses: list[list[float]]  # one list per step: the loss of every backward pass
    gradients: GradientFacts | None = None


@dataclass
class ProofFacts:
    runs: list[RunFacts] = field(default_factory=list)
    failed: str = ""  # why runs are missing
    fed: bool = True  # the batches were the same; otherwise only the random numbers were
