"""Adds or replaces a keyword argument of a call."""

from __future__ import annotations

import ast

from .edits import CannotEdit, Edits, TextEdit, TreeCopy, wrap_expression
from .source_file import SourceFile


def set_keyword(
    source: SourceFile,
    call: ast.Call,
    name: str,
    value: str,
    position: int | None = None,
    replaces: str = "",
) -> Edits:
    """`position`: of the argument if it is passed without a name. `replaces`: a keyword to remove."""
    new = ast.keyword(name, ast.parse(value, mode="eval").body)
    keywords = {keyword.arg: keyword for keyword in call.keywords if keyword.arg is not None}
    old = keywords.get(name) or keywords.get(replaces)
    if old is not None and old.arg != name and len(keywords) < len(call.keywords):
        raise CannotEdit("the arguments of the call are unpacked from a dict")
    if old is not None:
        edits = _replace(source, old, new, f"{name}={value}")
        if old.arg == name and replaces in keywords:
            other = keywords[replaces]
            edits += _replace(
                source, other, ast.keyword(replaces, ast.Constant(False)), f"{replaces}=False"
            )
        return edits
    plain = next((i for i, a in enumerate(call.args) if isinstance(a, ast.Starred)), len(call.args))
    if position is not None and plain > position:
        return _replace_argument(source, call.args[position], value)
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        raise CannotEdit("the arguments of the call are unpacked from a sequence")
    unpacked = [keyword.value for keyword in call.keywords if keyword.arg is None]
    if len(unpacked) > 1:
        raise CannotEdit("the arguments of the call are unpacked from several dicts")
    if not unpacked:
        return _append(source, call, new, f"{name}={value}")
    if not _is_primary(unpacked[0]):
        raise CannotEdit("the arguments of the call are unpacked from an expression")
    removed = f', "{replaces}": False' if replaces else ""
    return wrap_expression(source, unpacked[0], "{**", f'{removed}, "{name}": {value}}}')


def _is_primary(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Dict)


def _replace(source: SourceFile, old: ast.keyword, new: ast.keyword, text: str) -> Edits:
    start = _keyword_start(source, old)

    def change(tree: TreeCopy) -> None:
        tree.replace(old, lambda _: [new])

    return Edits([TextEdit(start, _after_parentheses(source, old.value), text)], [change])


def _replace_argument(source: SourceFile, old: ast.expr, value: str) -> Edits:
    def change(tree: TreeCopy) -> None:
        tree.replace(old, lambda _: [ast.parse(value, mode="eval").body])

    return Edits([TextEdit(source.start(old), source.end(old), value)], [change])


def _append(source: SourceFile, call: ast.Call, new: ast.keyword, text: str) -> Edits:
    """Inserts after the last argument, so that a comment or comma behind it stays."""

    def change(tree: TreeCopy) -> None:
        tree.of(call).keywords.append(new)

    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    if values:
        last = max(values, key=source.end)
        if isinstance(last, ast.GeneratorExp) and source.end(last) == source.end(call):
            raise CannotEdit("the only argument is a generator expression without parentheses")
        place = _after_parentheses(source, last)
        return Edits([TextEdit(place, place, f",{_space(source, last, place)}{text}")], [change])
    place = source.end(call) - 1  # before the closing parenthesis
    return Edits([TextEdit(place, place, text)], [change])


def _space(source: SourceFile, last: ast.expr, place: int) -> str:
    """Returns what separates a new argument: a new line if the call has an argument per line."""
    line = last.end_lineno or last.lineno
    rest = source.text[place : source.line_start(line + 1)]
    begins = source.text[source.line_start(last.lineno) : source.start(last)].strip()
    if rest.strip() != "," or "=" in begins.rstrip("=") or "(" in begins or "," in begins:
        return " "
    return source.newline(line) + source.indentation(last.lineno)


def _keyword_start(source: SourceFile, keyword: ast.keyword) -> int:
    return source.start(keyword)  # type: ignore[arg-type]  # keywords have positions


def _after_parentheses(source: SourceFile, node: ast.expr) -> int:
    """Returns the end of an argument with the parentheses around it, which its node excludes.

    Closing parentheses follow as tokens. The last one that closes no parenthesis of the argument
    is the call's: each one before it must have an opening one directly before the node.
    """
    start, end = source.start(node), source.end(node)
    while True:
        before = source.text[:start].rstrip()
        after = source.text[end:]
        skipped = len(after) - len(after.lstrip())
        is_argument = _opens_argument(source, before)
        if not before.endswith("(") or is_argument or not after.lstrip().startswith(")"):
            return end
        start, end = len(before) - 1, end + skipped + 1


def _opens_argument(source: SourceFile, before: str) -> bool:
    """Returns whether the last parenthesis opens the arguments of a call."""
    inner = before[:-1].rstrip()
    return bool(inner) and (inner[-1].isidentifier() or inner[-1].isdigit() or inner[-1] in ")]\"'")
