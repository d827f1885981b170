"""Checks that the model's parameters are still in the buffers, quickly after each backward pass.

If the check fails, a slow check finds the parameter and names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter, is_
from typing import Any

import torch

from ..._c.errors import ArgumentError
from .flat_buffer import Segment
from .flat_choice import Choice

# Functions written in C, for map(), so that no line of Python runs per tensor.
POINTER: Any = torch.Tensor.data_ptr
GRADIENT = attrgetter("grad")
TRAINABLE = attrgetter("requires_grad")

# Optimizers of torch, timm, Apex and Tundish whose update of an element depends on the whole tensor.
_WHOLE_TENSORS = {
    *("LARS", "LAMB", "NVLAMB", "NovoGrad", "Lars", "Lamb", "NvNovoGrad", "FusedLAMB"),
    *("FusedNovoGrad", "Adafactor", "AdafactorBigVision", "Muon", "Shampoo", "SOAP", "Kron"),
}
AGAIN = "flat.unflatten(), then flatten() again and create a new optimizer"


class BufferCheck:
    """Records the modules' parameter tables and the addresses of the parameters."""

    def __init__(self, model: torch.nn.Module, choice: Choice, segments: list[Segment]) -> None:
        self.model, self.choice = model, choice
        self.flat = [parameter for segment in segments for parameter in segment.parameters]
        self.flat_ids = set(map(id, self.flat))
        self.views = [view for segment in segments for view in segment.views]
        self.frozen = [parameter for _, parameter in choice.frozen]
        self.record()

    def record(self) -> None:
        modules = list(self.model.modules())
        self.tables = [module._parameters for module in modules]
        self.children = [module._modules for module in modules]
        self.counts = self._count()
        edges = [(table, key, child) for table in self.children for key, child in table.items()]
        self.edge_tables, self.edge_keys, self.edge_ends = _columns(edges)
        slots = [
            (table, key, parameter.data_ptr())
            for table in self.tables
            for key, parameter in table.items()
            if id(parameter) in self.flat_ids
        ]
        self.slot_tables, self.slot_keys, self.addresses = _columns(slots)
        self.view_addresses = list(map(POINTER, self.views))

    def _count(self) -> tuple[int, int]:
        return sum(map(len, self.tables)), sum(map(len, self.children))

    def is_unchanged(self) -> bool:
        """Returns False if a parameter may have changed; explain() then finds the parameter.

        Takes about 0.3 us of host time per tensor.
        """
        try:
            addresses = list(map(POINTER, map(dict.get, self.slot_tables, self.slot_keys)))
        except (TypeError, RuntimeError):  # a parameter is gone, or has no memory
            return False
        return (
            addresses == self.addresses
            and list(map(POINTER, self.views)) == self.view_addresses
            and self._count() == self.counts
            and all(map(is_, map(dict.get, self.edge_tables, self.edge_keys), self.edge_ends))
            and all(map(TRAINABLE, self.flat))
            and not any(map(TRAINABLE, self.frozen))
        )

    def explain(self, segments: Iterable[Segment], may_be_frozen: bool = False) -> None:
        """Raises ArgumentError for the first parameter that changed since flatten().

        may_be_frozen  accept frozen parameters, such as a GAN's discriminator between steps of its optimizer

        Harmless changes, such as a new frozen module, become part of the record.
        """
        now = {id(parameter): name for name, parameter in self.model.named_parameters()}
        for segment in segments:
            home = segment.gradient.untyped_storage().data_ptr()
            for name, parameter, weight, view in zip(
                segment.names, segment.parameters, segment.weights, segment.views, strict=True
            ):
                reason = _what_changed(id(parameter) in now, parameter, weight)
                if not reason and view.untyped_storage().data_ptr() != home:
                    reason = "has a gradient with other memory: p.grad.data was replaced"
                if not (reason or may_be_frozen or parameter.requires_grad):
                    reason = "was frozen (requires_grad=False) after flatten()"
                if reason:
                    raise ArgumentError(f"parameter {name!r} {reason}\n  fix: {AGAIN}")
        frozen = set(map(id, self.frozen))
        for name, parameter in self.model.named_parameters():
            if not parameter.requires_grad or id(parameter) in self.flat_ids:
                continue
            if id(parameter) in frozen:
                reason = "was frozen when the model was flattened and now requires a gradient"
            elif self.choice.all_trainable:
                reason = "was added to the model after flatten()"
            else:
                continue  # the parameter is in no group, so torch's optimizer would not train it either
            raise ArgumentError(f"parameter {name!r} {reason}\n  fix: {AGAIN}")
        self.record()


def refuse_norms(name: str, optimizer: Any) -> None:
    """Refuses an optimizer, or its class, that needs each tensor separately. Detects only known optimizers."""
    if name in _WHOLE_TENSORS or getattr(optimizer, "_uses_tensor_norms", False):
        raise ArgumentError(
            f"{name} needs the norm or shape of each tensor, and a flat parameter combines many tensors\n"
            "  fix: create it with model.parameters(); their gradients are in the buffer too"
        )


def _columns(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[], [], []]


def _what_changed(is_there: bool, parameter: torch.nn.Parameter, weight: torch.Tensor) -> str:
    if not is_there:
        return (
            'was replaced or removed after flatten(): load_state_dict(assign=True), to("meta") and'
            " assigning a new Parameter do that; load_state_dict() without assign copies in place"
        )
    was, now = (weight.dtype, weight.device), (parameter.dtype, parameter.device)
    if was != now:
        return f"is {now[0]} on {now[1]}; flatten() left it as {was[0]} on {was[1]}"
    same_place = parameter.data_ptr() == weight.data_ptr()
    if not same_place or parameter.shape != weight.shape or parameter.stride() != weight.stride():
        return (
            "no longer has its memory in the flat buffer: .data was replaced or the model was moved"
        )
    return ""
