"""Identifies a loader across runs of the same script."""

from __future__ import annotations

import contextlib
import hashlib
from types import FrameType
from typing import Any

from ...._process.code_origin import is_own_file
from .loader_facts import dataset_name


def loader_origin(loader: Any, frame: FrameType | None) -> str:
    """Returns the loader's origin: a hash of the call stack, the dataset class and the number of samples.

    The hash includes all lines of the stack, because a function or a Trainer may iterate over training
    and validation loaders in the same line. It includes the number of samples, because the stack is
    the same for both if a loop runs over both loaders.
    """
    parts = [dataset_name(loader), str(_samples(loader))]
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_own_file(file):
            parts.append(f"{file}:{frame.f_lineno}")
        frame = frame.f_back
    text = "\n".join(parts).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()[:16]


def _samples(loader: Any) -> int | None:
    with contextlib.suppress(Exception):
        return len(loader.dataset)
    return None
