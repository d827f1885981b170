"""Types of the JSON that `tundish doctor` writes. docs/doctor-json.md explains every key."""

from __future__ import annotations

from typing import Any, TypedDict

# Lines of code around a finding, each as [number, text].
Code = list[list[Any]]


class FindingJson(TypedDict):
    """A finding of a check. `file` is "" if the finding does not concern a single line."""

    file: str
    line: int
    check: str
    level: str
    text: str
    fix: str
    page: str
    seconds: float | None


class AppliedJson(TypedDict):
    """The change that --apply tried."""

    number: int | None
    apply: str
    what: str
    done: bool
    text: str
    predicted_s: float | None
    measured_s: float | None
    difference: float | None
    at_best: bool
    sentence: str


class RankJson(TypedDict):
    rank: int
    step_s: float
    waits_s: float


class StepJson(TypedDict):
    phase: str
    s: float
    data_s: float


class TimelineJson(TypedDict):
    file: str
    steps: int
    events: int
    dropped: int
    bytes: int
    clock_error_s: float
    sources: dict[str, int]
    notes: list[str]


class RoofJson(TypedDict):
    bytes_per_s: float | None
    flops_per_s: dict[str, float]
    seconds: float


class LayerJson(TypedDict):
    name: str
    type: str
    kind: str
    calls: int
    parameters: int
    shape: list[int]
    forward_s: float
    backward_s: float
    share: float
    flops: int | None
    bytes: int
    intensity: float
    precision: str
    bound: str
    roof_s: float
    of_roof: float | None


class LayersJson(TypedDict):
    device: str
    steps: int
    total_s: float
    outside_s: float
    roof: RoofJson
    rows: list[LayerJson]
    left_out: int


class LayersReportJson(LayersJson):
    """The JSON file that `tundish.layers` saves."""

    findings: list[FindingJson]


class PartJson(TypedDict):
    """A row of the table that --table simple shows."""

    part: str
    count: int
    mean_s: float
    total_s: float
    share: float
    gpu_mean_s: float | None
    gpu_total_s: float | None
    gpu_share: float | None


class FunctionJson(TypedDict):
    function: str
    file: str
    line: int
    calls: float
    own_s: float
    all_s: float


class FunctionsJson(TypedDict):
    """The table that --table advanced adds."""

    steps: int
    rows: list[FunctionJson]


class TablesJson(TypedDict):
    simple: list[PartJson]
    advanced: FunctionsJson | None


class MemoryRowJson(TypedDict):
    kind: str
    file: str
    line: int
    inner: str
    count: int
    bytes: int


class CurveJson(TypedDict):
    parts: list[str]
    kinds: dict[str, list[int]]


class PredictedJson(TypedDict):
    peak_bytes: int
    part: str
    kinds: dict[str, int]
    method: str
    reason: str


class LongLivedJson(TypedDict):
    reason: str
    file: str
    line: int
    text: str
    count: int
    bytes: int
    bytes_per_step: int
    holds_graph: bool


class MemoryJson(TypedDict):
    device: str
    steps: int
    peak_bytes: int
    torch_peak_bytes: int | None
    part: str
    file: str
    line: int
    kinds: dict[str, int]
    rows: list[MemoryRowJson]
    rest_bytes: int
    curve: CurveJson
    predicted: PredictedJson | None
    predicted_missing_reason: str
    long_lived: list[LongLivedJson]
    notes: list[str]


class CauseJson(TypedDict):
    name: str
    share: float
    detail: str


class FiguresJson(TypedDict):
    step_s: float
    parts: dict[str, float]
    ceiling_s: float
    ceiling_from: str
    clock: str
    steps: int
    rare_steps: int
    cached_batches: int
    ceiling_cpu_s: float
    few: bool
    host_parts: dict[str, float]
    batches: float
    other_data_s: float


class ChangeJson(TypedDict):
    what: str
    how: str
    predicted_s: float | None
    at_best: bool
    apply: str
    gain: float | None


class LoadingRowJson(TypedDict):
    name: str
    stage: str
    s: float
    file: str
    line: int


class LoadingJson(TypedDict):
    stages: dict[str, float]
    blocked_s: float
    workers: int
    cpus: int
    rows: list[LoadingRowJson]
    overlap_s: float
    batches: float
    handover_s: float
    batch_s: float


class GpuJson(TypedDict):
    steps: int
    wall_s: float
    busy_s: float
    kernels: float
    kernel_s: float
    launches: float
    waits: float
    wait_s: float
    pageable_copy_s: float
    pinned_copy_s: float


class TorchJson(TypedDict):
    version: str
    threads: int
    gpu: str | None


class LineJson(TypedDict):
    part: str
    in_other: bool
    file: str
    line: int
    function: str
    share: float
    samples: int
    column: int
    end_column: int
    code: Code


class FindingWithCodeJson(FindingJson):
    code: Code


class EnvironmentJson(TypedDict):
    area: str
    name: str
    level: str
    figure: str
    reason: str
    fix: str


class OriginJson(TypedDict, total=False):
    """Values that the command line adds to the verdict: the command, and the machine that it ran on."""

    processes: int
    exit: int
    command: str
    machine: dict[str, Any]
    versions: dict[str, str]
    environment: list[EnvironmentJson]


class ReportJson(OriginJson):
    """The whole JSON report."""

    version: int
    sentence: str
    cause: CauseJson | None
    figures: FiguresJson | None
    changes: list[ChangeJson]
    loading: LoadingJson | None
    loader: dict[str, Any] | None
    lines: list[LineJson]
    steps: list[StepJson]
    overhead_s: float | None
    phase: str | None
    torch: TorchJson | None
    gpu: GpuJson | None
    layers: LayersJson | None
    layers_missing_reason: str
    notes: list[str]
    ranks: list[RankJson]
    findings: list[FindingWithCodeJson]
    applied: AppliedJson | None
    tables: TablesJson
    memory: MemoryJson | None
    timeline: TimelineJson | None
