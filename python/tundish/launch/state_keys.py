"""Makes checkpoints of a model with and without DataParallel interchangeable.

DataParallel prefixes the keys of the wrapped module with "module.". It may wrap the whole model ("module.fc.weight")
or a part of it ("features.module.0.weight"). DistributedDataParallel prefixes the keys of the whole model.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

_WRAPPER = "module."


def plain_key(key: str, known: Collection[str], wrapped: Collection[str]) -> str | None:
    """Returns the key without wrapper prefixes, or None if the plain model has no such tensor.

    `known`: keys of the plain model. `wrapped`: paths of the modules that DataParallel wrapped.
    """
    spellings = [key]
    while spellings[-1].startswith(_WRAPPER):
        spellings.append(spellings[-1].removeprefix(_WRAPPER))
    for spelling in spellings:
        if spelling in known:  # checked first, because a model may have a child called "module"
            return spelling
        for path in wrapped:
            start = f"{path}.{_WRAPPER}"
            while spelling.startswith(start):
                spelling = f"{path}.{spelling.removeprefix(start)}"
        if spelling in known:
            return spelling
    return None


def accept_data_parallel_keys(owner: Any, prefix: str, wrapped: Collection[str]) -> None:
    """Makes `owner.load_state_dict` accept the keys of all forms of the model.

    `prefix`: "module." if `owner` is a DistributedDataParallel around the plain model, "" if
    `owner` is the plain model.
    """
    owner.register_load_state_dict_pre_hook(_KeyRenamer(prefix, wrapped))


class _KeyRenamer:
    """State-dict hook that renames keys before loading. It is a class, so that models can be pickled."""

    def __init__(self, prefix: str, wrapped: Collection[str]) -> None:
        self._prefix = prefix
        self._wrapped = tuple(wrapped)

    def __call__(self, module: Any, state: dict[str, Any], before: str, *_: Any) -> None:
        """Renames the keys in `state`. `before`: prefix of the keys of `module` in a larger model."""
        known = (module.module if self._prefix else module).state_dict().keys()
        renamed = {}
        for key in [key for key in state if key.startswith(before)]:
            plain_name = plain_key(key.removeprefix(before), known, self._wrapped)
            if plain_name is not None:
                renamed[f"{before}{self._prefix}{plain_name}"] = state.pop(key)
        state.update(renamed)
