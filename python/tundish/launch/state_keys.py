"""Checkpoints of a model with and without DataParallel: the same tensors, other keys.

DataParallel puts "module." before the keys of what it wraps: the whole model ("module.fc.weight") or
a part of it ("features.module.0.weight"). DistributedDataParallel does so for the whole model.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

_WRAPPER = "module."


def plain_key(key: str, known: Collection[str], places: Collection[str]) -> str | None:
    """The key in the plain model, whose keys are `known`; None: it has no such tensor. places: parts
    of the plain model that had a wrapper of their own."""
    spellings = [key]
    while spellings[-1].startswith(_WRAPPER):
        spellings.append(spellings[-1].removeprefix(_WRAPPER))
    for one in spellings:
        if one in known:  # first, since a model may have a part that is called "module"
            return one
        for place in places:
            start = f"{place}.{_WRAPPER}"
            while one.startswith(start):
                one = f"{place}.{one.removeprefix(start)}"
        if one in known:
            return one
    return None


def accept_data_parallel_keys(owner: Any, prefix: str, places: Collection[str]) -> None:
    """owner.load_state_dict takes the keys of all forms of the model. prefix: "module." if owner is a
    DistributedDataParallel around the plain model, "" if it is the plain model."""
    owner.register_load_state_dict_pre_hook(_Rename(prefix, places))


class _Rename:
    """A hook that torch calls before it loads. A class, since whole models are pickled and copied."""

    def __init__(self, prefix: str, places: Collection[str]) -> None:
        self._prefix = prefix
        self._places = tuple(places)

    def __call__(self, module: Any, state: dict[str, Any], before: str, *_: Any) -> None:
        """before: what the keys of `module` have before them in a larger model."""
        known = (module.module if self._prefix else module).state_dict().keys()
        renamed = {}
        for key in [one for one in state if one.startswith(before)]:
            plain_name = plain_key(key.removeprefix(before), known, self._places)
            if plain_name is not None:
                renamed[f"{before}{self._prefix}{plain_name}"] = state.pop(key)
        state.update(renamed)
