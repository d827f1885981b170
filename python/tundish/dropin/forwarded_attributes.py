"""Attributes of a DataLoader that a script sets on its replacement."""

from __future__ import annotations

from typing import Any


def is_forwarded(loader: Any, name: str) -> bool:
    """Returns whether setting this attribute is forwarded to torch's DataLoader.

    Torch refuses some attributes, such as `batch_size`. Others, such as `collate_fn`, take effect in the
    next epoch or make the next epoch raise an error.
    """
    dataloader = loader.__dict__.get("_dataloader")
    if dataloader is None or name.startswith("_") or hasattr(type(loader), name):
        return False
    return name in vars(dataloader) or hasattr(type(dataloader), name)
