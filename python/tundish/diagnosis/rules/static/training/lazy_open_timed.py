"""Detects time measurements of Image.open(), which does not decode the image."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.timing import spans
from ..static_rule import Occurrence, StaticRule

# Image methods that need no pixels, functions that only inspect the object, and methods of containers
# that store it.
_LAZY_METHODS = ("close", "seek", "tell", "getexif", "getbands", "draft", "verify")
_KEEPS = ("print", "len", "type", "isinstance", "repr", "id", "append", "extend", "add", "put")


def find(script: Script) -> Iterator[Occurrence]:
    for span in spans(script):
        opens = [call for call in span.calls if script.name(call.func) == "PIL.Image.open"]
        if opens and not any(_is_used(script, one, span.calls) for one in opens):
            yield Occurrence(
                opens[0],
                "Image.open only reads the header: the time excludes decoding",
                "call .load() on the image before reading the clock",
            )


def _is_used(script: Script, opened: ast.Call, calls: list[ast.Call]) -> bool:
    """Returns whether a call may need the pixels: a method of the image, or a function it is passed to."""
    statement = script.statement(opened)
    parts = statement.items if isinstance(statement, ast.With) else [statement]
    names = {
        node.id
        for part in parts
        for node in ast.walk(part)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }

    def is_image(node: ast.AST) -> bool:
        if isinstance(node, ast.List | ast.Tuple):
            return any(is_image(element) for element in node.elts)
        return node is opened or (isinstance(node, ast.Name) and node.id in names)

    for call in calls:
        function = call.func
        last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        is_method = isinstance(function, ast.Attribute) and is_image(function.value)
        if is_method and last not in _LAZY_METHODS:
            return True
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        if last not in _KEEPS and any(is_image(argument) for argument in arguments):
            return True
    return False


RULE = StaticRule(
    id="lazy-open-timed",
    title="Image.open is timed, but decodes nothing",
    level="error",
    reason="Pillow's open() reads the header and decodes at the first use of the pixels. It therefore seems faster than "
    "cv2.imread, which decodes immediately.",
    fix="Call .load() before reading the clock.",
    before="start = time.time()\nimage = Image.open(path)\nprint(time.time() - start)",
    after="start = time.time()\nimage = Image.open(path)\nimage.load()\nprint(time.time() - start)",
    find=find,
    silent="spans that call a method of the image, or pass it to a function, such as np.asarray or a transform",
)
