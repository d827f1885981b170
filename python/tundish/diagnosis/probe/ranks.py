"""Determines the rank of this process in a distributed run."""

from __future__ import annotations

import os
import sys


def rank_and_world() -> tuple[int, int]:
    """Returns rank and world size from torch.distributed, or from the launcher's variables."""
    torch = sys.modules.get("torch")
    group = getattr(torch, "distributed", None)
    if group is not None and group.is_available() and group.is_initialized():
        return int(group.get_rank()), int(group.get_world_size())
    return _number("RANK", 0), _number("WORLD_SIZE", 1)


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else default
