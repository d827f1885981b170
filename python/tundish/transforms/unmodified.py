"""Detects transforms of torchvision and timm that were modified after construction.

A translation only reads the class and the arguments of a transform. Hooks, replaced methods and edited derived
attributes change the pixels without changing class or arguments, so such transforms are refused. Replaced
functions of torchvision.transforms.functional are not detected.
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
# The hooks of the doctor inside a script belong to tundish_doctor_watch (_process/start/sitecustomize.py).
_OWN = ("tundish", "tundish_doctor_watch")


def modification(original: Any) -> str:
    """Describes how a transform was modified. Returns an empty string if it was not."""
    for find in (_hooks, _patched_class, _overrides, _derived):
        found = find(original)
        if found:
            return found
    return ""


def changed_call(module: Any) -> str:
    """Describes a hook or a replaced method that runs when a torch.nn.Module of a user is called; empty if none."""
    return _hooks(module) or _patched_class(module)


def _is_module(original: Any) -> bool:
    return any(base.__module__ == "torch.nn.modules.module" for base in type(original).__mro__)


def _hooks(original: Any) -> str:
    if not _is_module(original):
        return ""
    for name, value in vars(original).items():
        if "_hooks" in name and isinstance(value, Mapping) and value:
            return f"it has a hook ({name})"
    for name, value in vars(sys.modules["torch.nn.modules.module"]).items():
        hooks = value.values() if isinstance(value, Mapping) and "_hooks" in name else []
        if not all(is_own_hook(hook) or _only_observes(hook) for hook in hooks):
            return f"a hook is registered for all modules ({name})"
    return ""


def is_own_hook(hook: Any) -> bool:
    """Returns whether a hook belongs to Tundish. The doctor's hooks and wrappers only measure."""
    names = getattr(hook, "__globals__", {})
    return str(names.get("__name__")).partition(".")[0] in _OWN or hook is True


# torch code whose global module hooks only observe, such as the hooks of FlopCounterMode.
_OBSERVERS = (
    "torch.utils.module_tracker",
    "torch.distributed._tools.mod_tracker",
    "torch.distributed.tensor.debug._comm_mode",
)


def _only_observes(hook: Any) -> bool:
    return getattr(hook, "__globals__", {}).get("__name__") in _OBSERVERS


def _classes(original: Any) -> Iterator[type]:
    return (base for base in type(original).__mro__ if base is not object)


def _function(value: Any) -> Any:
    """Returns the function behind a method of any kind."""
    if isinstance(value, property):
        return value.fget
    return value.__func__ if isinstance(value, staticmethod | classmethod) else value


def is_foreign(value: Any) -> bool:
    """Returns whether a value is a callable that no known package defines."""
    function = _function(value)
    if isinstance(function, FunctionType):
        return str(function.__globals__.get("__name__")).partition(".")[0] not in _PACKAGES
    if isinstance(function, type):
        return False
    return callable(function) and not hasattr(function, "__origin__")  # aliases of typing


# Methods of torch.nn.Module and its lists that run when a transform is called.
_CALLS = {"__call__", "_call_impl", "_wrapped_call_impl", "forward", "__getattr__", "__iter__"}


def _patched_class(original: Any) -> str:
    for base in _classes(original):
        if base.__module__.partition(".")[0] not in _PACKAGES:
            continue
        for name, value in vars(base).items():
            if base.__module__.partition(".")[0] == "torch" and name not in _CALLS:
                continue  # transformers, for example, adds methods to torch.nn.Module
            if is_foreign(value) and not is_own_hook(_function(value)):
                return f"{base.__name__}.{name} was replaced"
            if name == "_AUGMENTATION_SPACE" and _edited_space(base.__name__, value):
                return f"{base.__name__}.{name} was edited"
    return ""


_GEOMETRY = ("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")
_COLORS = ("Brightness", "Color", "Contrast", "Sharpness", "Posterize", "Solarize", "AutoContrast")
_SPACES = {
    "AutoAugment": {*_GEOMETRY[1:], *_COLORS, "Equalize", "Invert"},
    "RandAugment": {*_GEOMETRY, *_COLORS, "Equalize"},
    "TrivialAugmentWide": {*_GEOMETRY, *_COLORS, "Equalize"},
}


def _edited_space(name: str, space: Any) -> bool:
    """Returns whether the list of operations was edited. v2 keeps it in a dict of the class."""
    expected = _SPACES.get(name)
    if expected is not None and set(space) != expected:
        return True
    return any(is_foreign(part) for entry in space.values() for part in entry if callable(part))


def _overrides(original: Any) -> str:
    """Finds instance attributes that hide methods or constants of the class, and unknown functions."""
    given = {"transforms", "_labels_getter"}
    for base in _classes(original):
        given |= set(inspect.signature(base).parameters)
    for name, value in vars(original).items():
        hidden = [base for base in _classes(original) if name in vars(base)]
        if hidden and (callable(value) or name.isupper() or name.startswith("_")):
            return f"{name} was set on this instance"
        if callable(value) and name not in given:
            return f"it has a custom function, {name}"
    return ""


# --- attributes that a constructor computes from its arguments ------------------------------------


def _derived(original: Any) -> str:
    values = vars(original)
    if "_fill" in values and _fills(values["fill"]) != _fills(values["_fill"]):
        return "_fill does not match fill"
    if "_log_ratio" in values and not _near(
        plain(values["_log_ratio"]), [math.log(ratio) for ratio in values["ratio"]]
    ):
        return "_log_ratio does not match ratio"
    if type(original).__name__ in ("MixUp", "CutMix"):
        dist = values["_dist"]
        both = [float(dist.concentration0), float(dist.concentration1)]
        if not _near(both, [float(values["alpha"])] * 2):
            return "_dist does not match alpha"
    if type(original).__name__ == "AugMix" and values["_PARAMETER_MAX"] != 10:
        return "_PARAMETER_MAX was edited"
    return _policies(original)


def _near(made: Any, expected: list[float]) -> bool:
    pairs = zip(made, expected, strict=True)
    return all(math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6) for a, b in pairs)


def _fills(fill: Any) -> Any:
    """Returns a fill in the format that v2 uses."""
    table = fill if isinstance(fill, Mapping) else {"others": fill}
    out = {}
    for key, value in table.items():
        number = value is None or isinstance(value, int | float)
        out[key] = value if number else [float(channel) for channel in value]
    return out


def _policies(original: Any) -> str:
    """Detects edited sub-policies, which AutoAugment computes from its argument `policy`."""
    made = vars(original).get("policies") or vars(original).get("_policies")
    if type(original).__name__ != "AutoAugment" or made is None:
        return ""
    fresh = type(original)(original.policy)
    expected = vars(fresh).get("policies") or vars(fresh).get("_policies")
    return "" if made == expected else "its policies were edited"
