"""Stores weights as channels_last, with the optimizers' states in the same layout."""

from __future__ import annotations

import sys
import weakref
from typing import Any


class Layouts:
    """Changes the layout of models, and keeps the layout of checkpoints of their optimizers."""

    def __init__(self) -> None:
        self._original: dict[int, tuple[int, ...]] = {}  # id of a parameter: its strides before
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()

    def use_channels_last(self, module: Any) -> None:
        for parameter in module.parameters():
            self._original.setdefault(id(parameter), parameter.stride())
        module.to(memory_format=sys.modules["torch"].channels_last)
        # A step with a closure, as Lightning's, calls the model after match().
        for optimizer in self._optimizers:
            _match(optimizer)

    def match(self, optimizer: Any) -> None:
        """Gives states the layout of their weights. Checkpoints keep the layout that they had."""
        _match(optimizer)
        self._optimizers.add(optimizer)
        optimizer.register_load_state_dict_post_hook(_match)
        optimizer.register_state_dict_post_hook(self._with_original_layout, prepend=True)

    def _with_original_layout(self, optimizer: Any, saved: dict[str, Any]) -> dict[str, Any]:
        from tundish.tuning.tricks.channels_last import with_strides

        torch = sys.modules["torch"]
        keys = [key for group in saved["param_groups"] for key in group["params"]]
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        states = dict(saved["state"])
        for key, parameter in zip(keys, parameters):
            strides = self._original.get(id(parameter))
            if strides is None or key not in states:
                continue
            states[key] = {
                name: with_strides(value, strides)
                if isinstance(value, torch.Tensor) and value.shape == parameter.shape
                else value
                for name, value in states[key].items()
            }
        return {**saved, "state": states}


def _match(optimizer: Any) -> None:
    from tundish.tuning.tricks.channels_last import match_weight_layout

    match_weight_layout(optimizer)


def channels_last_obstacle(module: Any) -> str:
    """Returns why a model gains nothing from channels_last, "" if it may gain."""
    torch = sys.modules["torch"]
    convolutions = [m for m in module.modules() if isinstance(m, torch.nn.Conv2d)]
    if not convolutions:
        return "the model has no two-dimensional convolution"
    weights = [m.weight for m in convolutions if m.weight.shape[-1] * m.weight.shape[-2] > 1]
    if weights and all(w.is_contiguous(memory_format=torch.channels_last) for w in weights):
        return "already done"
    return ""
