"""Facts from the recorders: a timeline, Python functions, and the memory of a step."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class TimelineFacts:
    steps: int


@dataclass(frozen=True)
class FunctionRow:
    """A function with values per step.

    `own_s` excludes the time of called functions; `all_s` includes it.
    """

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
    """Memory of one kind that one line holds at the peak."""

    kind: str
    file: str
    line: int
    inner: str
    count: int
    bytes: int


@dataclass(frozen=True)
class MemoryCurve:
    """Memory over one step. At each point: the part of the step, and the bytes of each kind."""

    parts: list[str]
    kinds: dict[str, list[int]]


@dataclass(frozen=True)
class LongLivedFacts:
    """Tensors that one line creates and that outlive their step."""

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
    """Results of the recorders.

    `asked` lists the phases of the requested recorders. `failed` maps phases to error texts.
    """

    asked: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    timeline: TimelineFacts | None = None
    functions: FunctionsFacts | None = None
    memory: MemoryFacts | None = None

    def steps_in(self, phase: str) -> int:
        """Returns the number of steps recorded in this phase."""
        found = {"timeline": self.timeline, "functions": self.functions, "memory": self.memory}[
            phase
        ]
        return found.steps if found else 0
