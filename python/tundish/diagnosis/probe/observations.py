"""Observes models and batches for the doctor's runtime checks.

Parameters and module calls are observed only in the profiled steps, which do not count in the
figures. Modes and shapes are observed in all steps, which costs a few attribute lookups per step.
"""

from __future__ import annotations

import gc
import sys
import weakref
from types import FrameType
from typing import Any

from ..._process.code_origin import user_line
from .facts import CallFacts, ObservedFacts

MOST_SHAPES = 50
MOST_NAMES = 20
Call = tuple[int, bool, bool, str, int]  # id of the module, training mode, grad enabled, file, line


class Observations:
    """Observations of a running script. Used only in the loop's thread."""

    def __init__(self) -> None:
        self.observes_parameters = False
        self.called: set[int] = set()  # ids of the modules that were called
        self._roots: dict[int, Any] = {}  # weak references to the modules that the loop calls
        self._without: dict[
            str, bool
        ] = {}  # parameter name: whether it got no gradient in any step
        # name and elements of parameters with a gradient that no optimizer of these steps uses, by id
        self._unused: dict[int, tuple[str, int]] = {}
        self._calls: dict[Call, int] = {}  # number of outermost calls of modules
        self._with_backward: set[Call] = set()  # calls followed by a backward pass
        self._recent: set[Call] = set()  # calls since the last batch
        self._latest: dict[int, Call] = {}  # latest call by module
        self._shapes: set[tuple[int, ...]] = set()
        self._types: set[str] = set()
        self._steps = 0
        self._optimized: set[int] = set()  # ids of the parameters in optimizers

    def root_called(self, module: Any, grad_enabled: bool, frame: FrameType | None) -> None:
        """Records an outermost call of a module."""
        number = id(module)
        known = self._roots.get(number)
        if known is None or known() is not module:  # a new module may have the id of a deleted one
            self._roots[number] = weakref.ref(module)
        call = (number, bool(module.training), grad_enabled, *user_line(frame))
        self._calls[call] = self._calls.get(call, 0) + 1
        self._recent.add(call)
        self._latest[number] = call

    def batch_requested(self) -> None:
        """Marks the beginning of a batch. Later backward passes do not belong to earlier calls."""
        self._recent.clear()

    def backward_called(self) -> None:
        """Assigns a backward pass to all calls since the last batch.

        The loop may have fetched a batch ahead, so the latest call of each module counts too.
        """
        self._with_backward |= self._recent
        self._with_backward.update(self._latest.values())

    def batch(self, batch: Any) -> None:
        """Records the shape of the first tensor and the types of all tensors."""
        torch = sys.modules["torch"]
        parts = batch if isinstance(batch, list | tuple) else [batch]
        values = [
            value
            for part in parts
            for value in (part.values() if isinstance(part, dict) else [part])
            if isinstance(value, torch.Tensor)
        ]
        if values and len(self._shapes) < MOST_SHAPES and not values[0].is_nested:
            self._shapes.add(tuple(values[0].shape))
        self._types |= {str(value.dtype) for value in values}

    def before_optimizer(self, optimizer: Any) -> None:
        """Records which parameters have gradients. Called in profiled steps, before the optimizer."""
        self._optimized |= _parameter_ids(optimizer)
        self._steps += 1
        for name, parameter in self._parameters():
            got = parameter.grad is not None
            if parameter.requires_grad:
                self._without[name] = self._without.get(name, True) and not got
            if got and id(parameter) not in self._optimized:
                self._unused[id(parameter)] = name, parameter.numel()
            else:
                self._unused.pop(id(parameter), None)

    def _parameters(self) -> list[tuple[str, Any]]:
        return [pair for root in self.live_roots() for pair in _named_parameters(root)]

    def live_roots(self) -> list[Any]:
        """Returns the modules that the loop calls, in the order of their first calls."""
        found = [root() for root in self._roots.values()]
        return [root for root in found if root is not None]

    def largest_root(self) -> Any:
        """Returns the largest module (by parameters) that the loop calls, or None."""
        return max(
            self.live_roots(),
            key=lambda root: sum(p.numel() for _, p in _named_parameters(root)),
            default=None,
        )

    def _unused_gradients(self) -> list[tuple[str, int]]:
        """Returns name and elements of parameters whose gradient no optimizer of the script uses.

        An optimizer may step less often than the steps that were observed.
        """
        if not self._unused:
            return []
        kind = sys.modules["torch"].optim.Optimizer
        # type() instead of isinstance(), which would run code of lazy proxies
        optimizers = [one for one in gc.get_objects() if issubclass(type(one), kind)]
        used = {number for one in optimizers for number in _parameter_ids(one)}
        return [found for number, found in self._unused.items() if number not in used]

    def facts(self) -> ObservedFacts:
        torch = sys.modules["torch"]
        unused = self._unused_gradients()
        parameters = self._parameters()
        uncalled = [
            f"{name} ({type(module).__name__})"
            for root in self.live_roots()
            for name, module in root.named_modules()
            if self.called and id(module) not in self.called and self._lacks_gradients(name, module)
        ]
        inside = {text.partition(" ")[0] for text in uncalled}
        without = [name for name, empty in self._without.items() if empty]
        alone = [name for name in without if name.rpartition(".")[0] not in inside]
        return ObservedFacts(
            steps=self._steps,
            parameters=sum(p.numel() for _, p in parameters),
            types=sorted({str(p.dtype) for _, p in parameters}),
            never_called=uncalled[:MOST_NAMES],
            never_called_count=len(uncalled),
            without_gradient=alone[:MOST_NAMES],
            without_gradient_count=len(alone),
            unused_gradients=[name for name, _ in unused[:MOST_NAMES]],
            unused_gradient_elements=sum(elements for _, elements in unused),
            modes=self._module_calls(),
            shapes=len(self._shapes),
            batch_types=sorted(self._types),
            cudnn_benchmark=bool(torch.backends.cudnn.benchmark),
        )

    def _module_calls(self) -> list[CallFacts]:
        """Describes each line that calls a model: modes, number of calls, and whether backward followed.

        Omits modules without parameters.
        """
        roots = {number: root() for number, root in self._roots.items()}
        return [
            CallFacts(*call, calls=count, backward=call in self._with_backward)
            for call, count in self._calls.items()
            if roots[call[0]] is None or _named_parameters(roots[call[0]])
        ]

    def _lacks_gradients(self, name: str, module: Any) -> bool:
        """Returns whether the module has its own parameters, but no gradient for any of them so far."""
        own = [n for n, p in module.named_parameters(recurse=False) if p.requires_grad]
        prefix = f"{name}." if name else ""
        return bool(own) and all(self._without.get(f"{prefix}{n}", False) for n in own)


def _parameter_ids(optimizer: Any) -> set[int]:
    groups = getattr(optimizer, "param_groups", ())
    return {id(parameter) for group in groups for parameter in group["params"]}


def _named_parameters(root: Any) -> list[tuple[str, Any]]:
    """Returns torch's named_parameters(), even if the script overrides it.

    Omits parameters without a shape.
    """
    torch = sys.modules["torch"]
    named = torch.nn.Module.named_parameters(root)
    return [(name, p) for name, p in named if not torch.nn.parameter.is_lazy(p)]
