"""Measured layers, and the roof of this machine over each layer.

A layer cannot be faster than its FLOPs at the rate of a large matrix product, nor faster than its
bytes at the rate of a large copy. The larger of the two times is the layer's roof.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

LEAST_SHARE = 0.05  # of the model's time; smaller costs are not reported
LEAST_S = 200e-6


@dataclass
class Layer:
    """A module without its children, per step, as written by probe/layers/profile.py."""

    name: str
    type: str
    order: int = 0
    calls: int = 1
    parameters: int = 0
    conv: dict[str, Any] | None = None
    shape_in: tuple[int, ...] = ()
    shape_out: tuple[int, ...] = ()
    layout_in: str = ""
    layout_out: str = ""
    branches: tuple[str, ...] = ()
    forward_s: float = 0.0
    backward_s: float = 0.0
    flops: int = 0
    bytes: int = 0
    operations: int = 0
    by_kind: dict[str, int] | None = None
    types: dict[str, int] | None = None
    products: tuple[str, ...] = ()
    tokens: int = 0
    layout_bytes: int = 0
    unknown: bool = False
    padded: float | None = (
        None  # time with sizes that suit Tensor Cores, relative to the measured time
    )
    in_bf16: float | None = None  # time under bfloat16 autocast, relative to the measured time

    @property
    def seconds(self) -> float:
        return self.forward_s + self.backward_s

    @property
    def display_name(self) -> str:
        """The name, or the type for the model itself, which has no name."""
        return self.name or f"({self.type})"

    @property
    def precision(self) -> str:
        """Element type of most of the layer's FLOPs; "" without FLOPs."""
        types = self.types or {}
        return max(types, key=lambda name: types[name], default="")

    @property
    def kind(self) -> str:
        """One of "matrix", "norm", "elementwise", "copy", "other"."""
        if self.flops:
            return "matrix"
        kinds = self.by_kind or {}
        return max(kinds, key=lambda name: kinds[name], default="other")

    @property
    def intensity(self) -> float:
        """FLOPs per byte; 0 without bytes."""
        return self.flops / self.bytes if self.bytes else 0.0


class MeasuredLayers:
    """The layers of one model. `facts`: written by the watch."""

    def __init__(self, facts: dict[str, Any]) -> None:
        names = {field_info.name for field_info in fields(Layer)}
        self.layers = [
            Layer(**{key: value for key, value in row.items() if key in names})
            for row in facts["rows"]
        ]
        self.device: str = facts["device"]
        self.steps: int = facts["steps"]
        self.total_s: float = facts["total_s"]
        self.outside_s: float = facts["outside_s"]
        self.bytes_per_s: float | None = facts["roof"]["bytes_per_s"]
        self.flops_per_s: dict[str, float] = facts["roof"]["flops_per_s"]
        self.roof_took_s: float = facts["roof"]["seconds"]

    def compute_s(self, layer: Layer) -> float:
        rate = self.flops_per_s.get(layer.precision)
        return layer.flops / rate if rate else 0.0

    def memory_s(self, layer: Layer) -> float:
        return layer.bytes / self.bytes_per_s if self.bytes_per_s else 0.0

    def roof_s(self, layer: Layer) -> float:
        return max(self.compute_s(layer), self.memory_s(layer))

    def is_significant(self, seconds: float, share: float = LEAST_SHARE) -> bool:
        """Returns whether a cost is large enough for a finding."""
        return seconds >= max(LEAST_S, share * self.total_s)

    def under(self, name: str) -> list[Layer]:
        """Returns a module and all modules inside it."""
        if not name:
            return self.layers
        return [
            layer
            for layer in self.layers
            if layer.name == name or layer.name.startswith(name + ".")
        ]

    def children(self, name: str) -> list[Layer]:
        return [
            layer for layer in self.layers if layer.name.rpartition(".")[0] == name and layer.name
        ]

    def share(self, seconds: float) -> str:
        return percent(seconds / self.total_s if self.total_s else 0.0)


def percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def total(layers: Iterable[Layer]) -> float:
    return sum(layer.seconds for layer in layers)


def slowest_names(layers: list[Layer]) -> list[str]:
    return [layer.display_name for layer in sorted(layers, key=lambda layer: -layer.seconds)]
