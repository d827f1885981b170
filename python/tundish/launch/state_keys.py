"""Makes checkpoints of a model with and without DataParallel interchangeable.

DataParallel prefixes the keys of the wrapped module with "module.". It may wrap the whole model ("module.fc.weight")
or a part of it ("features.module.0.weight"). DistributedDataParallel prefixes the keys of the whole model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

_WRAPPER = "module."


def plain_keys(
    keys: Collection[str], known: Collection[str], wrapped: Collection[str]
) -> dict[str, str]:
    """Returns the key in the plain model of each key that has one.

    The form with the most of these keys decides, because a model may have a child called "module": a single key
    such as "a.module.weight" may then belong to the child or to the wrapper. Other keys are read one by one.

    `known`: keys of the plain model. `wrapped`: path of each wrapper in the plain model.
    """
    present = set(keys)
    found = max(_forms(keys, known, wrapped), key=lambda form: len(form.keys() & present))
    out = {key: found[key] for key in keys if key in found}
    taken = set(out.values())
    for key in keys:
        plain = None if key in out else plain_key(key, known, wrapped)
        if plain is not None and plain not in taken:
            out[key] = plain
    return out


def _forms(
    keys: Collection[str], known: Collection[str], wrapped: Collection[str]
) -> Iterator[dict[str, str]]:
    """Yields each form of the model as a dict from its keys to the plain keys; the plain form is the first."""
    inside_out = sorted(wrapped, key=len, reverse=True)
    with_wrappers = {_wrapped_key(key, inside_out): key for key in known}
    for count in range(max(map(_leading, keys), default=0) + 1):
        for form in ({key: key for key in known}, with_wrappers):
            yield {_WRAPPER * count + key: plain for key, plain in form.items()}


def _leading(key: str) -> int:
    """Returns how often the prefix of a wrapper around the whole model may be in a key."""
    parts = key.split(".")
    return next((n for n, part in enumerate(parts) if f"{part}." != _WRAPPER), len(parts))


def _wrapped_key(key: str, inside_out: Collection[str]) -> str:
    for path in inside_out:
        if key.startswith(f"{path}."):
            key = f"{path}.{_WRAPPER}{key.removeprefix(f'{path}.')}"
    return key


def plain_key(key: str, known: Collection[str], wrapped: Collection[str]) -> str | None:
    """Returns the plain key after removing as few prefixes as possible, or None if there is no such tensor."""
    spellings = [key]
    for spelling in spellings:  # grows
        if spelling in known:
            return spelling
        for start in ("", *(f"{path}." for path in wrapped)):
            if spelling.startswith(start + _WRAPPER):
                shorter = start + spelling.removeprefix(start + _WRAPPER)
                if shorter not in spellings:
                    spellings.append(shorter)
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
        given = [key.removeprefix(before) for key in state if key.startswith(before)]
        names = plain_keys(given, known, self._wrapped)
        renamed = {
            f"{before}{self._prefix}{plain}": state.pop(f"{before}{key}")
            for key, plain in names.items()
        }
        state.update(renamed)
