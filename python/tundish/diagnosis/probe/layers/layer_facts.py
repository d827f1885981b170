"""Facts about the layers of a model, from the steps that measure them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Convolution:
    in_channels: int
    out_channels: int
    groups: int
    kernel_size: list[int]
    stride: list[int]
    weight_layout: str


@dataclass(frozen=True)
class LayerFacts:
    """One module in one step. All values exclude the module's children."""

    name: str
    type: str
    order: int = 0  # position in the order of first calls; -1 if the module is never called
    calls: int = 1
    parameters: int = 0
    conv: Convolution | None = None
    shape_in: list[int] = field(default_factory=list)
    shape_out: list[int] = field(default_factory=list)
    layout_in: str = ""
    layout_out: str = ""
    branches: list[str] = field(default_factory=list)  # modules called with the same input
    forward_s: float = 0.0
    backward_s: float = 0.0
    flops: int = 0
    bytes: int = 0
    operations: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    products: list[str] = field(default_factory=list)
    tokens: int = 0
    layout_bytes: int = 0
    unknown: bool = False  # whether the FLOPs are unknown
    padded: float | None = (
        None  # time with sizes that suit Tensor Cores, relative to the measured time
    )
    in_bf16: float | None = None  # time under bfloat16 autocast, relative to the measured time

    @property
    def seconds(self) -> float:
        return self.forward_s + self.backward_s

    @property
    def display_name(self) -> str:
        """The module's name. The model itself has no name, so its type is returned in parentheses."""
        return self.name or f"({self.type})"

    @property
    def precision(self) -> str:
        """The precision in which most of the layer's FLOPs run; "" without FLOPs."""
        return max(self.types, key=lambda name: self.types[name], default="")

    @property
    def kind(self) -> str:
        """One of "matrix", "norm", "elementwise", "copy", "other"."""
        if self.flops:
            return "matrix"
        return max(self.by_kind, key=lambda name: self.by_kind[name], default="other")

    @property
    def intensity(self) -> float:
        """FLOPs per byte; 0 without bytes."""
        return self.flops / self.bytes if self.bytes else 0.0


@dataclass(frozen=True)
class RoofFacts:
    """Measured limits of the machine.

    `flops_per_s` is by precision. `seconds` is the duration of the measurement.
    """

    bytes_per_s: float | None
    flops_per_s: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class LayersFacts:
    """The measured layers of a model."""

    device: str
    steps: int
    outside_s: float  # backward time of operations outside modules, such as a loss
    total_s: float
    counts_missing_reason: str
    roof: RoofFacts
    rows: list[LayerFacts]
