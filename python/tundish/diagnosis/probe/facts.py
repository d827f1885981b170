"""Facts about one process: the probe measures them, and the verdict is computed from them.

The probe writes `Facts` as JSON, and facts_file.py reads the file. VERSION must change when a field
is added or its meaning changes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from .layers.layer_facts import LayersFacts
from .profiles.recorded_facts import RecordedFacts
from .proof.proof_facts import ProofFacts

VERSION = 3
Kind = Literal["read", "decode", "transform", "other"]  # stage of loading


@dataclass(frozen=True)
class StepFacts:
    """One training step. Times are seconds by part of the step; see clocks/step_ledger.py."""

    phase: str
    boundary: bool  # whether the step is excluded from the figures; see WatchedStep
    batches: int
    optimizer_steps: int
    seconds: dict[str, float]
    gpu_seconds: dict[str, float]  # empty without a GPU
    cpu_s: float
    counts: dict[str, int]  # number of times each part was entered
    fed: int = 1  # batches of the loader that feeds the training; 0: it is unknown
    other_data_s: float = 0.0  # waiting for other loaders; part of the seconds of "data"


@dataclass(frozen=True)
class LineFacts:
    """A line where the sampler found the loop's thread.

    `column` and `end_column` are byte offsets in the line, or 0 if unknown.
    """

    part: str
    in_other: bool  # whether the line ran outside all hooks, in the part "other"
    file: str
    line: int
    function: str
    share: float
    samples: int
    column: int
    end_column: int


@dataclass(frozen=True)
class PlaceFacts:
    """A line of the script. `file` is "" if the line is unknown."""

    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class TorchFacts:
    version: str
    threads: int
    gpu: str | None
    peak_bytes: int = 0  # of GPU memory, since the steps with cached batches began; 0 without a GPU


@dataclass(frozen=True)
class SampleRow:
    """The time that one function of the dataset takes, in seconds per sample."""

    name: str
    kind: Kind
    file: str
    line: int
    s: float
    blocked_s: float


@dataclass(frozen=True)
class SampleFacts:
    """The seconds that one process needs to load a sample and to collate a batch."""

    samples: int
    sample_s: float
    blocked_s: float
    rows: list[SampleRow]
    collate_s: float
    batch_size: int = 0  # samples per batch, even if a batch sampler sets it; 0: unknown
    tensors: int = 0  # tensors in a batch


@dataclass(frozen=True)
class EngineFacts:
    """How fast Tundish's engine loads the script's batches. `batch_s` is None unless `native` is true."""

    native: bool
    text: str
    batch_s: float | None = None


@dataclass(frozen=True)
class LoaderFacts:
    """Settings of the loader that feeds the loop. A setting that the loader lacks is None."""

    kind: str  # "torch", or the package of the loader's class
    class_name: str
    batch_size: int | None = None
    num_workers: int | None = None
    prefetch_factor: int | None = None
    pin_memory: bool | None = None
    persistent_workers: bool | None = None
    batches: int | None = None
    dataset: str | None = None  # module and class of the dataset; torch only
    undivided: bool | None = None  # whether all workers would return the same samples; torch only
    auto_threads: bool | None = None  # whether threads="auto"; tundish only
    samples: SampleFacts | None = None
    engine: EngineFacts | None = None
    stats: dict[str, float] | None = None  # Loader.stats(); tundish only

    def as_json(self) -> dict[str, Any]:
        """Returns the "loader" object of docs/doctor-json.md. Omits settings that the loader lacks."""
        values = asdict(self)
        out = {"kind": values.pop("kind"), "class": values.pop("class_name")}
        engine = values["engine"]
        if engine and not engine["native"]:
            del engine["batch_s"]
        kept = {"batches"} | ({"engine"} if self.samples else set())
        return out | {key: v for key, v in values.items() if v is not None or key in kept}


@dataclass(frozen=True)
class GpuFacts:
    """Activity of the GPU in one profiled step."""

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


@dataclass(frozen=True)
class CallFacts:
    """A line that calls a model, with the modes at the call.

    `root` is the number of the module. `grad` is whether gradients were enabled. `backward` is whether
    a backward pass followed.
    """

    root: int
    training: bool
    grad: bool
    file: str
    line: int
    calls: int
    backward: bool


@dataclass(frozen=True)
class ObservedFacts:
    """Observations of models and batches, for the runtime checks."""

    steps: int
    parameters: int
    types: list[str]
    never_called: list[str]
    never_called_count: int
    without_gradient: list[str]
    without_gradient_count: int
    unused_gradients: list[str]
    unused_gradient_elements: int
    modes: list[CallFacts]
    shapes: int
    batch_types: list[str]
    cudnn_benchmark: bool


@dataclass(frozen=True)
class AppliedFacts:
    """The outcome of --apply: whether the change was made, and what was done or why it failed."""

    done: bool
    text: str


@dataclass(frozen=True)
class Facts:
    """All observations of one process."""

    pid: int
    rank: int
    world: int
    phase: str  # phase in which the probe stopped measuring
    torch: TorchFacts | None
    cpus: int
    optimizer_steps: int
    steps: list[StepFacts] = field(default_factory=list)
    lines: list[LineFacts] = field(default_factory=list)
    next: PlaceFacts = field(default_factory=PlaceFacts)  # where the loop fetches its batches
    origins: list[str] = field(default_factory=list)
    loader: LoaderFacts | None = None
    loader_missing_reason: str = ""  # why the loader could not be inspected
    failed: str = ""  # the first error of the probe
    seconds: float = 0.0
    python: str = ""
    script: str = ""
    files: list[str] = field(default_factory=list)
    overhead_s: float | None = None  # overhead of measuring per step; None while it is unknown
    gpu_profile: GpuFacts | None = None
    gpu_profile_missing_reason: str = ""
    recorded: RecordedFacts = field(default_factory=RecordedFacts)
    layers: LayersFacts | None = None
    layers_missing_reason: str = ""  # why `layers` is None
    observed: ObservedFacts | None = None
    applied: AppliedFacts | None = None
    proof: ProofFacts | None = None
    version: int = VERSION


NO_FACTS = Facts(pid=0, rank=0, world=1, phase="", torch=None, cpus=4, optimizer_steps=0)
