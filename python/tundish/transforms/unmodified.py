"""Detects transforms of torchvision and timm whose behavior was changed after construction.

A translation reads a transform's class and arguments. Hooks, methods set on the instance or on the class, and edited
derived attributes change the pixels without changing either, so such transforms are refused. Functions of
torchvision.transforms.functional that were replaced are not detected.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

from .._c.plain import plain

_PACKAGES = ("torch", "torchvision", "timm")


def modification(theirs: Any) -> str:
    """Returns what makes the transform behave unlike its class and arguments, or an empty string."""
    for find in (_hooks, _patched_class, _overrides, _derived):
        found = find(theirs)
        if found:
            return found
    return ""


def _is_module(theirs: Any) -> bool:
    return any(one.__module__ == "torch.nn.modules.module" for one in type(theirs).__mro__)


def _hooks(theirs: Any) -> str:
    if not _is_module(theirs):
        return ""
    for name, value in vars(theirs).items():
        if "_hooks" in name and isinstance(value, Mapping) and value:
            return f"it has a hook ({name})"
    for name, value in vars(sys.modules["torch.nn.modules.module"]).items():
        hooks = value.values() if isinstance(value, Mapping) and "_hooks" in name else []
        if not all(is_own_hook(hook) for hook in hooks):
            return f"a hook is registered for all modules ({name})"
    return ""


def is_own_hook(hook: Any) -> bool:
    """The doctor's hooks and wrappers only measure."""
    names = getattr(hook, "__globals__", {})
    return str(names.get("__name__")).partition(".")[0] == "tundish" or hook is True


def _classes(theirs: Any) -> Iterator[type]:
    return (one for one in type(theirs).__mro__ if one is not object)


def _function(value: Any) -> Any:
    """Returns the function behind a method of any kind."""
    if isinstance(value, property):
        return value.fget
    return value.__func__ if isinstance(value, staticmethod | classmethod) else value


def is_foreign(value: Any) -> bool:
    """Tells whether a value is callable and was not defined by a known package."""
    function = _function(value)
    if isinstance(function, FunctionType):
        return str(function.__globals__.get("__name__")).partition(".")[0] not in _PACKAGES
    if isinstance(function, type):
        return False
    return callable(function) and not hasattr(function, "__origin__")  # typing's aliases


# Methods of torch.nn.Module and its lists that run when a transform is called.
_CALLS = {"__call__", "_call_impl", "_wrapped_call_impl", "forward", "__getattr__", "__iter__"}


def _patched_class(theirs: Any) -> str:
    for one in _classes(theirs):
        if one.__module__.partition(".")[0] not in _PACKAGES:
            continue
        for name, value in vars(one).items():
            if one.__module__.partition(".")[0] == "torch" and name not in _CALLS:
                continue  # transformers, for instance, adds methods to torch.nn.Module
            if is_foreign(value) and not is_own_hook(_function(value)):
                return f"{one.__name__}.{name} was replaced"
            if name == "_AUGMENTATION_SPACE" and _edited_space(one.__name__, value):
                return f"{one.__name__}.{name} was edited"
    return ""


_GEOMETRY = ("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")
_COLORS = ("Brightness", "Color", "Contrast", "Sharpness", "Posterize", "Solarize", "AutoContrast")
_SPACES = {
    "AutoAugment": {*_GEOMETRY[1:], *_COLORS, "Equalize", "Invert"},
    "RandAugment": {*_GEOMETRY, *_COLORS, "Equalize"},
    "TrivialAugmentWide": {*_GEOMETRY, *_COLORS, "Equalize"},
}


def _edited_space(name: str, space: Any) -> bool:
    """v2 keeps the operations of a policy in a dict of the class."""
    wanted = _SPACES.get(name)
    if wanted is not None and set(space) != wanted:
        return True
    return any(is_foreign(part) for entry in space.values() for part in entry if callable(part))


def _overrides(theirs: Any) -> str:
    """Finds attributes of the instance that hide methods and constants of its class, and unknown functions."""
    given = {"transforms", "_labels_getter"}
    for one in _classes(theirs):
        given |= set(inspect.signature(one).parameters)
    for name, value in vars(theirs).items():
        hidden = [one for one in _classes(theirs) if name in vars(one)]
        if hidden and (callable(value) or name.isupper() or name.startswith("_")):
            return f"{name} was set on this instance"
        if callable(value) and name not in given:
            return f"it has a function of its own, {name}"
    return ""


# --- attributes that a constructor computes from its arguments ------------------------------------


def _derived(theirs: Any) -> str:
    values = vars(theirs)
    if "_fill" in values and _fills(values["fill"]) != _fills(values["_fill"]):
        return "_fill is not what fill says"
    if "_log_ratio" in values and not _near(
        plain(values["_log_ratio"]), [math.log(one) for one in values["ratio"]]
    ):
        return "_log_ratio is not what ratio says"
    if type(theirs).__name__ in ("MixUp", "CutMix"):
        dist = values["_dist"]
        both = [float(dist.concentration0), float(dist.concentration1)]
        if not _near(both, [float(values["alpha"])] * 2):
            return "_dist is not what alpha says"
    if type(theirs).__name__ == "AugMix" and values["_PARAMETER_MAX"] != 10:
        return "_PARAMETER_MAX was edited"
    return _policies(theirs)


def _near(made: Any, wanted: list[float]) -> bool:
    pairs = zip(made, wanted, strict=True)
    return all(math.isclose(one, two, rel_tol=1e-5, abs_tol=1e-6) for one, two in pairs)


def _fills(fill: Any) -> Any:
    """Returns a fill in the form in which v2 keeps it."""
    table = fill if isinstance(fill, Mapping) else {"others": fill}
    out = {}
    for key, value in table.items():
        number = value is None or isinstance(value, int | float)
        out[key] = value if number else [float(one) for one in value]
    return out


def _policies(theirs: Any) -> str:
    """AutoAugment computes its list of operations from its policy."""
    made = vars(theirs).get("policies") or vars(theirs).get("_policies")
    if type(theirs).__name__ != "AutoAugment" or made is None:
        return ""
    fresh = type(theirs)(theirs.policy)
    wanted = vars(fresh).get("policies") or vars(fresh).get("_policies")
    return "" if made == wanted else "its policies were edited"
