"""Trains on one batch, for tools/paths/record.py: python tools/paths/one_batch.py PACK [--gpu]

Writes the stack of Python functions above each C call to PYTHON_STACKS, as JSON lines.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import tundish
from tundish import transforms as T
from tundish._c.library import lib

PACKAGE = Path(tundish.__file__).resolve().parent
STEPS = {"tundish_loader_next": "take", "tundish_device_enqueue": "enqueue"}


def file_of(code: CodeType) -> str:
    return str(Path("python/tundish") / Path(code.co_filename).resolve().relative_to(PACKAGE))


def python_stack() -> list[list[str]]:
    """Returns [function, file] of each frame, beginning with the loop."""
    out: list[list[str]] = []
    frame = sys._getframe(2)
    while frame is not None:
        if Path(frame.f_code.co_filename).resolve().is_relative_to(PACKAGE):
            out.append([frame.f_code.co_qualname, file_of(frame.f_code)])
        frame = frame.f_back  # type: ignore[assignment]
    return out[::-1]


def watched(name: str, stacks: dict[str, list[list[str]]]) -> Callable[..., Any]:
    real = getattr(lib, name)

    def call(*arguments: Any) -> Any:
        stacks.setdefault(STEPS[name], python_stack())
        return real(*arguments)

    return call


def main() -> None:
    stacks: dict[str, list[list[str]]] = {}
    for name in STEPS:
        setattr(lib, name, watched(name, stacks))
    more: dict[str, Any] = {"device": "cuda", "decode": "gpu"} if "--gpu" in sys.argv else {}
    transforms = [T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.ToDtype("float32")]
    loader = tundish.Loader(sys.argv[1], 4, shuffle=True, threads=1, transforms=transforms, **more)
    for images, labels in loader:
        assert len(images) == len(labels) == 4
        break
    loader.close()
    with open(os.environ["PYTHON_STACKS"], "w") as out:
        for step, frames in stacks.items():
            print(json.dumps({"step": step, "frames": frames}), file=out)


if __name__ == "__main__":
    main()
