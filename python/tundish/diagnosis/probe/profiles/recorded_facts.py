"""Facts of the recorders: a timeline, host functions, and the memory of a step."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class TimelineFacts:
    steps: int


@dataclass(frozen=True)
class FunctionRow:
    """A function, per step. `own_s` excludes called functions, `all_s` includes them."""

    function: str
    file: str
    line: int
    calls: float
    own_s: float
    all_s: float


@dataclass(frozen=True)
class FunctionsFacts:
    steps: int
    rows: list[FunctionRow]


@dataclass(frozen=True)
class MemoryRow:
    """Memory at the peak, by kind and line."""

    kind: str
    file: str
    line: int
    inner: str
    count: int
    bytes: int


@dataclass(frozen=True)
class MemoryCurve:
    """Course of a step: the part at each point, and the bytes at each point by kind."""

    parts: list[str]
    kinds: dict[str, list[int]]


@dataclass(frozen=True)
class LongLivedFacts:
    """Tensors of one line that outlive their step."""

    reason: str
    file: str
    line: int
    text: str
    count: int
    bytes: int
    bytes_per_step: int
    holds_graph: bool


@dataclass(frozen=True)
class PredictedMemory:
    peak_bytes: int
    part: str
    kinds: dict[str, int]
    method: str
    reason: str


@dataclass(frozen=True)
class MemoryFacts:
    """Memory of one step, in bytes (docs/doctor-json.md)."""

    device: str
    steps: int
    peak_bytes: int
    torch_peak_bytes: int | None
    part: str
    file: str
    line: int
    kinds: dict[str, int]
    rows: list[MemoryRow]
    rest_bytes: int
    curve: MemoryCurve
    long_lived: list[LongLivedFacts]
    notes: list[str]
    predicted: PredictedMemory | None = None
    predicted_missing_reason: str = ""


@dataclass(frozen=True)
class RecordedFacts:
    """Results of the recorders. `asked`: phases of the requested recorders; `failed`: errors by phase."""

    asked: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    timeline: TimelineFacts | None = None
    functions: FunctionsFacts | None = None
    memory: MemoryFacts | None = None

    def steps_in(self, phase: str) -> int:
        """Returns the number of recorded steps in the phase of a recorder."""
        found = {"timeline": self.timeline, "functions": self.functions, "memory": self.memory}[
            phase
        ]
        return found.steps if found else 0
