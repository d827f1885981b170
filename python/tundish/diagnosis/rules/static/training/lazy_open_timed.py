"""Detects timing of Image.open, which does not decode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....lint.script import Script
from ....lint.script.timing import spans
from ..static_rule import Check, Found

_DECODES: tuple[str, ...] = (
    "load",
    "convert",
    "resize",
    "crop",
    "array",
    "asarray",
    "tobytes",
    "getdata",
    "copy",
)
_DECODES += (
    "rotate",
    "transpose",
    "save",
    "show",
    "thumbnail",
    "verify",
    "getpixel",
    "split",
    "to_tensor",
)


def find(script: Script) -> Iterator[Found]:
    for span in spans(script):
        opens = [call for call in span.calls if script.name(call.func) == "PIL.Image.open"]
        if opens and not any(_decodes(call) for call in span.calls):
            yield Found(
                opens[0],
                "Image.open only reads the header: the time excludes decoding",
                "call .load() on the image before reading the clock",
            )


def _decodes(call: ast.Call) -> bool:
    """Returns whether a call needs the pixels."""
    last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return last in _DECODES or "transform" in last


CHECK = Check(
    id="lazy-open-timed",
    title="Image.open is timed, but decodes nothing",
    level="error",
    why="Pillow's open() reads the header and decodes at the first use of the pixels. It therefore seems faster than "
    "cv2.imread, which decodes immediately.",
    remedy="Call .load() before reading the clock.",
    before="start = time.time()\nimage = Image.open(path)\nprint(time.time() - start)",
    after="start = time.time()\nimage = Image.open(path)\nimage.load()\nprint(time.time() - start)",
    find=find,
    silent="spans that use the pixels: convert, resize, np.asarray",
)
