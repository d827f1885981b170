"""Image.open is timed, and has decoded nothing."""

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
                "Image.open reads the header only: the time is without decoding",
                "call .load() on the image before the clock is read",
            )


def _decodes(call: ast.Call) -> bool:
    """A method or function that needs the pixels."""
    last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return last in _DECODES or "transform" in last


CHECK = Check(
    id="lazy-open-timed",
    title="the time of Image.open is not the time of decoding",
    level="error",
    why="Pillow's open() reads the header and decodes at the first use of the pixels, so that it looks faster than "
    "cv2.imread, which decodes at once.",
    remedy="Call .load() before the clock is read.",
    before="start = time.time()\nimage = Image.open(path)\nprint(time.time() - start)",
    after="start = time.time()\nimage = Image.open(path)\nimage.load()\nprint(time.time() - start)",
    find=find,
    silent="spans that use the pixels: convert, resize, np.asarray",
)
