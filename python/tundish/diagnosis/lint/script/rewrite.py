"""A call of the script as it should be written instead, with every argument that is not meant."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

_WIDTH = 160  # characters of a suggestion; a longer one names only what changes


def rewritten(
    call: ast.Call,
    function: str = "",
    *,
    first: Sequence[str] = (),
    changed: Mapping[str, str] | None = None,
    names: Sequence[str] = (),
) -> str:
    """Returns the call with another function or other arguments.

    first    code of arguments that are put before the others
    changed  keyword arguments that are added, or replaced if they are there
    names    parameters of the old function, for arguments that were positional and must be named
    """
    new = dict(changed or {})
    where = function or _code(call.func)
    kept = [_code(one) for one in call.args]
    if names:
        named = dict(zip(names, call.args))
        kept = [_code(one) for one in call.args[len(names) :]]
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
    """The code of an expression on one line; `...` for one that is nested too deeply."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return "..."
