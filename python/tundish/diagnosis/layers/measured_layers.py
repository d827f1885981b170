"""Measured layers, each with its roof: the shortest time that this machine could need for the layer.

A layer's FLOPs cannot run faster than a large matrix product, and its bytes cannot be moved faster
than by a large copy. The larger of these two times is the layer's roof.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..probe.layers.layer_facts import LayerFacts, LayersFacts

LEAST_SHARE = 0.05  # smallest fraction of the model's time that is reported
LEAST_S = 200e-6


class MeasuredLayers:
    """The layers of one model, each with its roof."""

    def __init__(self, facts: LayersFacts) -> None:
        self.layers, self.device, self.steps = facts.rows, facts.device, facts.steps
        self.total_s, self.outside_s = facts.total_s, facts.outside_s
        self.roof = facts.roof

    def compute_s(self, layer: LayerFacts) -> float:
        rate = self.roof.flops_per_s.get(layer.precision)
        return layer.flops / rate if rate else 0.0

    def memory_s(self, layer: LayerFacts) -> float:
        return layer.bytes / self.roof.bytes_per_s if self.roof.bytes_per_s else 0.0

    def roof_s(self, layer: LayerFacts) -> float:
        return max(self.compute_s(layer), self.memory_s(layer))

    def is_significant(self, seconds: float, share: float = LEAST_SHARE) -> bool:
        """Returns whether a cost in seconds is large enough to be reported."""
        return seconds >= max(LEAST_S, share * self.total_s)

    def under(self, name: str) -> list[LayerFacts]:
        """Returns a module and all modules inside it."""
        if not name:
            return self.layers
        return [
            layer
            for layer in self.layers
            if layer.name == name or layer.name.startswith(name + ".")
        ]

    def children(self, name: str) -> list[LayerFacts]:
        return [
            layer for layer in self.layers if layer.name.rpartition(".")[0] == name and layer.name
        ]

    def share(self, seconds: float) -> str:
        return percent(seconds / self.total_s if self.total_s else 0.0)


def percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


def total(layers: Iterable[LayerFacts]) -> float:
    return sum(layer.seconds for layer in layers)


def slowest_names(layers: list[LayerFacts]) -> list[str]:
    return [layer.display_name for layer in sorted(layers, key=lambda layer: -layer.seconds)]
