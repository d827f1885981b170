"""Attributes of a DataLoader that a script sets on what stands in for it."""

from __future__ import annotations

from typing import Any


def forwards(loader: Any, name: str) -> bool:
    """Whether setting this attribute concerns torch's DataLoader.

    Torch refuses some attributes, such as `batch_size`. Others, such as `collate_fn`, take effect in the next epoch, or the next epoch
    raises an error.
    """
    theirs = loader.__dict__.get("_theirs")
    if theirs is None or name.startswith("_") or hasattr(type(loader), name):
        return False
    return name in vars(theirs) or hasattr(type(theirs), name)
