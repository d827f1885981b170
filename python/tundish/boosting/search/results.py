"""The result of a boost: what was measured, what was kept, and how it was proved."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

FORMAT = 1  # of boost.json

# Verdicts on a change.
KEPT = "keep"
NO_GAIN = "no gain"
REJECTED = "rejected"  # the proof failed
FAILED = "failed"  # the script failed with the change
LEFT_OUT = "left out"  # not tried: already done, or not possible


@dataclass(frozen=True)
class Measured:
    """One variant of the script. Times are seconds of one step; `wait`: share spent waiting for data."""

    step_s: float
    compute_s: float
    wait: float
    samples: int  # per step; 0: unknown
    peak_bytes: int  # of GPU memory; 0 without a GPU

    @property
    def rate(self) -> float:
        """Samples per second, or steps per second if the batch size is unknown."""
        return max(1, self.samples) / self.step_s if self.step_s else 0.0


@dataclass
class ChangeRow:
    """A change that was tried, on top of those kept before it, or that was left out."""

    title: str
    changes: list[dict[str, str]]
    verdict: str
    reason: str = ""
    place: str = ""  # FILE:LINE
    measured: Measured | None = None
    gain: float | None = None  # over the changes kept before it
    training: str = ""  # the proof, in a few words
    ways: dict[str, str] = field(default_factory=dict)  # by change: a framework's switch
    proof: dict[str, Any] | None = None
    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class BoostResult:
    command: list[str]
    script: str
    digest: str  # of the script's file
    device: str
    baseline: Measured
    boosted: Measured
    gain: float
    sentence: str  # the doctor's sentence on the baseline
    rows: list[ChangeRow] = field(default_factory=list)
    changes: list[dict[str, str]] = field(default_factory=list)  # kept
    objects: dict[str, Any] = field(default_factory=dict)  # models, optimizers and loader
    survey: dict[str, Any] = field(default_factory=dict)
    baseline_losses: list[list[float]] = field(default_factory=list)  # plain and nudged runs
    boosted_losses: list[float] = field(default_factory=list)
    proof: dict[str, Any] | None = None  # of all kept changes together
    loader_proof: str = ""  # what accelerate() says
    pairs: list[tuple[float, float]] = field(default_factory=list)  # step_s: baseline, boosted
    gpu: str = ""  # its name
    notes: list[str] = field(default_factory=list)
    finished: bool = True  # False after Ctrl-C or at the time limit
    seconds: float = 0.0
    machine: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    format: int = FORMAT

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
