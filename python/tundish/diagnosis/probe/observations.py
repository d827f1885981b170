"""What the doctor's checks of a running script need to know of its model and batches.

Parameters and calls of modules are looked at in the profiled steps, which are not in the figures; modes and shapes
always, at the price of a few attribute look-ups per step.
"""

from __future__ import annotations

import sys
import weakref
from types import FrameType
from typing import Any

from .users_code import users_line

MOST_SHAPES = 50
MOST_NAMES = 20
Call = tuple[int, bool, bool, str, int]  # id of the module, training, gradients on, file, line


class Observations:
    """Used by the loop's thread."""

    def __init__(self) -> None:
        self.looks_at_parameters = False
        self.called: set[int] = set()  # ids of modules
        self._roots: dict[int, Any] = {}  # weak references to the modules that the loop calls
        self._without: dict[str, bool] = {}  # names of parameters that got no gradient in any step
        self._unused: dict[str, int] = {}  # elements of parameters whose gradient nobody uses
        self._calls: dict[Call, int] = {}  # outermost calls of modules: how many
        self._with_backward: set[Call] = set()  # calls that a backward pass followed
        self._recent: set[Call] = set()  # since the last batch
        self._latest: dict[int, Call] = {}  # of each module
        self._shapes: set[tuple[int, ...]] = set()
        self._types: set[str] = set()
        self._steps = 0
        self._optimized: set[int] = set()  # ids of parameters

    def root_called(self, module: Any, grad_enabled: bool, frame: FrameType | None) -> None:
        """The outermost call of a module."""
        number = id(module)
        if number not in self._roots:
            self._roots[number] = weakref.ref(module)
        call = (number, bool(module.training), grad_enabled, *users_line(frame))
        self._calls[call] = self._calls.get(call, 0) + 1
        self._recent.add(call)
        self._latest[number] = call

    def batch_asked(self) -> None:
        """The loop asks for a batch: what the model gave before is used, or is of no use for a backward pass."""
        self._recent.clear()

    def backward_called(self) -> None:
        """It is of the calls since the last batch; of each module's latest call where the batch was fetched ahead."""
        self._with_backward |= self._recent
        self._with_backward.update(self._latest.values())

    def batch(self, batch: Any) -> None:
        """Of its first tensor: shape; of all: types."""
        torch = sys.modules["torch"]
        parts = batch if isinstance(batch, list | tuple) else [batch]
        values = [
            one
            for part in parts
            for one in (part.values() if isinstance(part, dict) else [part])
            if isinstance(one, torch.Tensor)
        ]
        if values and len(self._shapes) < MOST_SHAPES and not values[0].is_nested:
            self._shapes.add(tuple(values[0].shape))
        self._types |= {str(one.dtype) for one in values}

    def before_optimizer(self, optimizer: Any) -> None:
        """Gradients are there. Called in profiled steps."""
        self._optimized |= {id(p) for group in optimizer.param_groups for p in group["params"]}
        self._steps += 1
        for name, parameter in self._parameters():
            got = parameter.grad is not None
            if parameter.requires_grad:
                self._without[name] = self._without.get(name, True) and not got
            if got and id(parameter) not in self._optimized:
                self._unused[name] = parameter.numel()
            else:
                self._unused.pop(name, None)

    def _parameters(self) -> list[tuple[str, Any]]:
        return [pair for root in self._live_roots() for pair in _named_parameters(root)]

    def _live_roots(self) -> list[Any]:
        found = [root() for root in self._roots.values()]
        return [one for one in found if one is not None]

    def largest_root(self) -> Any:
        """The module with the most parameters among those that the loop calls; None before the first."""
        return max(
            self._live_roots(),
            key=lambda root: sum(p.numel() for _, p in _named_parameters(root)),
            default=None,
        )

    def as_json(self) -> dict[str, Any]:
        torch = sys.modules["torch"]
        parameters = self._parameters()
        uncalled = [
            f"{name} ({type(module).__name__})"
            for root in self._live_roots()
            for name, module in root.named_modules()
            if self.called and id(module) not in self.called and self._got_nothing(name, module)
        ]
        inside = {text.partition(" ")[0] for text in uncalled}
        without = [name for name, empty in self._without.items() if empty]
        alone = [name for name in without if name.rpartition(".")[0] not in inside]
        return {
            "steps": self._steps,
            "parameters": sum(p.numel() for _, p in parameters),
            "types": sorted({str(p.dtype) for _, p in parameters}),
            "never_called": uncalled[:MOST_NAMES],
            "never_called_count": len(uncalled),
            "without_gradient": alone[:MOST_NAMES],
            "without_gradient_count": len(alone),
            "unused_gradients": list(self._unused)[:MOST_NAMES],
            "unused_gradient_elements": sum(self._unused.values()),
            "modes": self._modes_json(),
            "shapes": len(self._shapes),
            "batch_types": sorted(self._types),
            "cudnn_benchmark": bool(torch.backends.cudnn.benchmark),
        }

    def _modes_json(self) -> list[dict[str, Any]]:
        """Of each line that calls a module with parameters: modes, calls, and whether a backward pass ever followed."""
        roots = {number: root() for number, root in self._roots.items()}
        return [
            {
                "root": call[0],
                "training": call[1],
                "grad": call[2],
                "file": call[3],
                "line": call[4],
                "calls": count,
                "backward": call in self._with_backward,
            }
            for call, count in self._calls.items()
            if roots[call[0]] is None or _named_parameters(roots[call[0]])
        ]

    def _got_nothing(self, name: str, module: Any) -> bool:
        """Whether the module has parameters of its own, and none of them ever got a gradient."""
        own = [n for n, p in module.named_parameters(recurse=False) if p.requires_grad]
        prefix = f"{name}." if name else ""
        return bool(own) and all(self._without.get(f"{prefix}{n}", False) for n in own)


def _named_parameters(root: Any) -> list[tuple[str, Any]]:
    """As torch gives them, whatever the script's class makes of it; without those of lazy modules that have no shape yet."""
    torch = sys.modules["torch"]
    named = torch.nn.Module.named_parameters(root)
    return [(name, p) for name, p in named if not torch.nn.parameter.is_lazy(p)]
