"""Attributes of a DataLoader that a script sets on its replacement."""

from __future__ import annotations

from typing import Any


def is_forwarded(loader: Any, name: str) -> bool:
    """Returns whether an assignment to this attribute goes to torch's DataLoader.

    torch refuses to set some attributes, such as `batch_size`. Other attributes, such as `collate_fn`, take effect in
    the next epoch, or the next epoch raises an error.
    """
    dataloader = loader.__dict__.get("_dataloader")
    if dataloader is None or name.startswith("_") or hasattr(type(loader), name):
        return False
    return name in vars(dataloader) or hasattr(type(dataloader), name)
