"""Rewrites a call for a suggested fix. Unrelated arguments are kept."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

_WIDTH = 160  # characters of a suggestion; longer suggestions show only what changes


def rewritten(
    call: ast.Call,
    function: str = "",
    *,
    first: Sequence[str] = (),
    changed: Mapping[str, str] | None = None,
    names: Sequence[str] = (),
) -> str:
    """Returns the source of the call with another function or other arguments.

    first    source of arguments to insert before the others
    changed  keyword arguments to add or replace
    names    parameter names of the old function, for positional arguments that must become keywords
    """
    new = dict(changed or {})
    where = function or _code(call.func)
    kept = [_code(arg) for arg in call.args]
    if names:
        named = dict(zip(names, call.args))
        kept = [_code(arg) for arg in call.args[len(names) :]]
        new = {name: _code(value) for name, value in named.items()} | new
    keywords = []
    for keyword in call.keywords:
        if keyword.arg is None:
            keywords.append(f"**{_code(keyword.value)}")
        else:
            keywords.append(f"{keyword.arg}={new.pop(keyword.arg, '') or _code(keyword.value)}")
    added = [f"{name}={value}" for name, value in new.items()]
    text = f"{where}({', '.join([*first, *kept, *keywords, *added])})"
    if len(text) <= _WIDTH:
        return text
    return f"{where}({', '.join([*first, '...', *added])})"


def _code(node: ast.expr) -> str:
    """Returns an expression as one line of source, or `...` if it is nested too deeply."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return "..."
