"""Rewrites a call for a suggested fix. Keeps unrelated arguments."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

_WIDTH = 160  # maximum length of a suggestion; longer ones show only the changed arguments


def rewritten(
    call: ast.Call,
    function: str = "",
    *,
    first: Sequence[str] = (),
    changed: Mapping[str, str] | None = None,
    names: Sequence[str] = (),
) -> str:
    """Returns the source of the call with another function or other arguments.

    function  name of the other function, or "" to keep the function
    first     source of arguments to insert before the others
    changed   keyword arguments to add or replace
    names     parameter names of the old function, to turn positional arguments into keywords
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
    """Returns the source of an expression in one line, or `...` if it is nested too deeply."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return "..."
