"""The result of a tuning run: one row per variant (set of tricks), and how it was measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

# Verdicts on a variant.
KEPT = "keep"
FASTER = "faster"  # faster than the baseline, but not the fastest variant
NO_GAIN = "no gain"
SLOWER = "slower"
REJECTED = "rejected"  # rejected by the numerics gate; `numerics` names the tensor
IMPOSSIBLE = "not possible"  # `numerics` contains the reason
COMPARED = "compared"  # only for comparison: baseline, twin, human recipe, torch's defaults
NOT_JUDGED = "numerics not judged"  # begins a text: the loss band is too wide for a verdict
NOT_CHECKED = "the numbers of the plan were not checked"  # begins a note


@dataclass
class Row:
    """A row of the report: a variant (a set of tricks) or a reference to compare with."""

    label: str  # label in the table: "bf16 autocast", "+ channels_last"
    phase: str  # "reference", "optimizer", "precision and layout", "compile", "flags", "removal", "confirm"
    tricks: list[dict[str, Any]]
    verdict: str
    step_ms: float | None = None  # the baseline's time in the report, divided by `gain`
    measured_ms: float | None = None  # median of the row's own turns
    host_ms: float | None = None  # time that the host needs to launch a step
    host_bound: bool = False
    # Speedup over `compared_with`, and its 95 % interval.
    compared_with: str = "baseline"
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    turns: int = 0
    peak_bytes: int | None = None  # peak of reserved memory, including memory pools of CUDA graphs
    one_off_s: float | None = None  # seconds of compilation, graph capture, cuDNN benchmarks
    break_even_steps: int | None = None
    numerics: str = (
        ""  # "within fp32 noise (worst: ..., 1.8 x)", "loss band ok (30 steps)", or the fault
    )
    grade: str = ""
    judged: bool = True  # False: the loss band is too wide; `numerics` begins with NOT_JUDGED


@dataclass
class TuneReport:
    """The result of a tuning run: the data for tables, HTML pages and JSON."""

    job: str  # "train.py:build"
    model: str  # class and number of parameters
    optimizer: str
    batch: str  # shapes and dtypes of the batch
    samples: int
    device: str
    baseline: str  # "your flags: TF32 in convolutions, eager, foreach"
    rows: list[Row] = field(default_factory=list)
    # Speedup of the winner in a fresh run over "baseline", "torch defaults", "strict fp32", "human recipe".
    gains: dict[str, dict[str, float]] = field(default_factory=dict)  # gain, low, high
    twin: dict[str, float] = field(default_factory=dict)  # noise: spread, threshold
    seconds: float = 0.0
    finished: bool = True  # False if Ctrl-C or the time limit ended the run early
    notes: list[str] = field(default_factory=list)
    # How the tuning time was spent: seconds, event, trial.
    timeline: list[tuple[float, str, str]] = field(default_factory=list)
    machine: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    command: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def report_from_json(values: dict[str, Any]) -> TuneReport:
    rows = [Row(**row) for row in values.get("rows", [])]
    return TuneReport(**{**values, "rows": rows})
