"""The weights, optimizer states and batches from which every compared run starts."""

from __future__ import annotations

import copy
import os
import random
import sys
import weakref
from typing import Any

FILE = "start.pt"


class TrainingObjects:
    """The models and optimizers of the loop, in the order in which the loop first used them."""

    def __init__(self) -> None:
        self._optimizers: dict[int, Any] = {}  # weak references

    def optimizer_stepped(self, optimizer: Any) -> None:
        self._optimizers.setdefault(id(optimizer), weakref.ref(optimizer))

    def optimizers(self) -> list[Any]:
        found = [reference() for reference in self._optimizers.values()]
        return [optimizer for optimizer in found if optimizer is not None]

    def trained(self, roots: list[Any]) -> list[Any]:
        """Returns the modules with a parameter that an optimizer updates, without their parts.

        A part appears among the roots if the script calls it alone, or a change calls the whole
        without torch's function, as in the evaluation of a compiled model.
        """
        groups = [group for optimizer in self.optimizers() for group in optimizer.param_groups]
        optimized = {id(p) for group in groups for p in group["params"]}
        parts = {id(part) for root in roots for part in root.modules() if part is not root}
        whole = [root for root in roots if id(root) not in parts]
        return [root for root in whole if any(id(p) in optimized for p in root.parameters())]


def take_state(models: list[Any], optimizers: list[Any]) -> dict[str, Any]:
    """Returns a copy of all states on the CPU."""
    return {
        "models": [_on_cpu(model.state_dict()) for model in models],
        "optimizers": [_on_cpu(optimizer.state_dict()) for optimizer in optimizers],
    }


def load_state(state: dict[str, Any], models: list[Any], optimizers: list[Any]) -> None:
    """Raises RuntimeError if the script has made other models or optimizers than before."""
    pairs = [(models, state["models"], "models"), (optimizers, state["optimizers"], "optimizers")]
    for objects, saved, what in pairs:
        if len(objects) != len(saved):
            raise RuntimeError(f"the script made {len(objects)} {what}, before {len(saved)}")
        for one, values in zip(objects, saved):
            one.load_state_dict(copy.deepcopy(values))


def save(folder: str, values: dict[str, Any]) -> None:
    path = os.path.join(folder, FILE)
    sys.modules["torch"].save(values, path + ".new")
    os.replace(path + ".new", path)


def load(folder: str) -> dict[str, Any]:
    """Reads a file that this command wrote, so that any class of batch may be loaded."""
    path = os.path.join(folder, FILE)
    values: dict[str, Any] = sys.modules["torch"].load(path, weights_only=False, map_location="cpu")
    return values


def seed_all(seed: int) -> None:
    torch = sys.modules["torch"]
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def nudge(models: list[Any], seed: int) -> None:
    """Moves weights by half a unit in the last place, up or down; rounding makes it a whole one or none."""
    torch = sys.modules["torch"]
    draw = torch.Generator().manual_seed(seed)
    for model in models:
        for parameter in model.parameters():
            if parameter.is_floating_point():
                eps = torch.finfo(parameter.dtype).eps
                signs = torch.randint(0, 2, parameter.shape, generator=draw) * 2 - 1
                moved = parameter.detach().cpu() * (1 + signs.to(parameter.dtype) * eps / 2)
                parameter.data.copy_(moved)


def _on_cpu(value: Any) -> Any:
    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, dict):
        return type(value)((key, _on_cpu(item)) for key, item in value.items())
    if type(value) in (list, tuple):
        return type(value)(_on_cpu(item) for item in value)
    return copy.deepcopy(value)
