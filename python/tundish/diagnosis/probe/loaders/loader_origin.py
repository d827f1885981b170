"""Which loader of a script this is, in words that hold in another run of the same script."""

from __future__ import annotations

import contextlib
import hashlib
from types import FrameType
from typing import Any

from ..users_code import is_ours
from .loader_facts import dataset_name


def origin_of(loader: Any, frame: FrameType | None) -> str:
    """A hash of the lines that iterate the loader, the innermost first, its class of data set, and its samples.

    All lines: a function or a Trainer may iterate the loaders of training and validation in the same line.
    The samples: a loop over both loaders has the same lines for both.
    """
    words = [dataset_name(loader), str(_samples(loader))]
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_ours(file):
            words.append(f"{file}:{frame.f_lineno}")
        frame = frame.f_back
    text = "\n".join(words).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()[:16]


def _samples(loader: Any) -> int | None:
    with contextlib.suppress(Exception):
        return len(loader.dataset)
    return None
