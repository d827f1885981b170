"""What a tuning run found: one row for each variant of the step, and how it was measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

# What becomes of a variant.
KEPT = "keep"
FASTER = "faster"  # than the baseline, and not the fastest
NO_GAIN = "no gain"
SLOWER = "slower"
REJECTED = "rejected"  # by the numerics gate; `numerics` names the tensor
IMPOSSIBLE = "not possible"  # `numerics` says why
COMPARED = "compared"  # a reference: baseline, twin, human recipe, torch's defaults


@dataclass
class Row:
    """One variant: a set of tricks on top of the user's step, or a reference to compare with."""

    label: str  # as the table shows it: "bf16 autocast", "+ channels_last"
    phase: str  # "reference", "optimiser", "precision and layout", "compile", "flags", "removal", "confirm"
    tricks: list[dict[str, Any]]
    verdict: str
    step_ms: float | None = None  # median of the turns
    host_ms: float | None = None  # the time in which the host launched it
    host_bound: bool = False
    # Times faster than what the row is compared with, and its 95 % interval.
    compared_with: str = "baseline"
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    turns: int = 0
    peak_bytes: int | None = None  # reserved, graph pools included
    one_off_s: float | None = None  # compilation, capture, cuDNN's trials
    break_even_steps: int | None = None
    numerics: str = (
        ""  # "within fp32 noise (worst: ..., 1.8 x)", "loss band ok (30 steps)", or what broke
    )
    grade: str = ""


@dataclass
class Report:
    """Everything a table, a page or a JSON reader needs."""

    job: str  # "train.py:build"
    model: str  # class, parameters
    optimizer: str
    batch: str  # shapes and types
    samples: int
    device: str
    baseline: str  # "your flags: TF32 in convolutions, eager, foreach"
    rows: list[Row] = field(default_factory=list)
    # The winner in a fresh run, times faster than: "baseline", "torch defaults", "strict fp32", "human recipe".
    gains: dict[str, dict[str, float]] = field(default_factory=dict)  # gain, low, high
    twin: dict[str, float] = field(default_factory=dict)  # spread of the identical twin, threshold
    seconds: float = 0.0
    finished: bool = True  # False: Ctrl-C or the time limit ended it; the best plan so far
    notes: list[str] = field(default_factory=list)
    # Where the time of the tuning went: seconds, what happened, to which trial.
    timeline: list[tuple[float, str, str]] = field(default_factory=list)
    machine: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    command: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def report_from_json(values: dict[str, Any]) -> Report:
    rows = [Row(**row) for row in values.get("rows", [])]
    return Report(**{**values, "rows": rows})
