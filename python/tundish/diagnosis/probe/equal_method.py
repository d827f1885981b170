"""A wrapper of a torch.Tensor method that compares equal to the method.

torch passes the method to `__torch_function__`, and libraries look it up in a set or a dict. For
example, torchvision keeps the class of bounding boxes for `func in {torch.Tensor.to, ...}`. The set
may have been created before or after the method was replaced, so both must compare equal.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from .hidden_frames import hidden


class EqualMethod:
    """A callable that calls `call`, but compares and hashes like `original`.

    `original` may itself be an EqualMethod.
    """

    def __init__(self, original: Any, call: Callable[..., Any]) -> None:
        self._original = _unwrapped(original)
        self._call = hidden(call)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    @hidden
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return bool(self._original == _unwrapped(other))

    def __hash__(self) -> int:
        return hash(self._original)


def _unwrapped(method: Any) -> Any:
    return method._original if isinstance(method, EqualMethod) else method
