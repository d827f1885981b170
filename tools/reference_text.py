"""Formats Markdown for docs/reference.md: tables, docstrings, signatures, members of a class."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Collection
from functools import cached_property
from typing import Any


def cell(text: str) -> str:
    """Formats a table cell: one line, with bars escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell(word) for word in line) + " |" for line in lines)


def shown(value: Any) -> str:
    """Formats a default as a user would write it."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        inside = ", ".join(shown(one) for one in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def documentation(thing: Any) -> str:
    """Returns the docstring of an object. Indented parts become literal blocks."""
    text = inspect.cleandoc(thing.__doc__ or "")
    out, block = [], []
    for line in [*text.splitlines(), ""]:
        aligned = re.match(r"\w+(, \w+)* {2,}\S", line) or line.startswith("    ")
        if aligned or (block and line.startswith(" ")):
            block.append(line)
            continue
        if block:
            out += ["```text", *block, "```"]
            block = []
        out.append(line)
    return "\n".join(out).strip()


def signature(name: str, function: Any) -> str:
    """Formats a signature without types, which the text and the tables explain."""
    taken = inspect.signature(function).parameters.values()
    plain = [
        one.replace(annotation=inspect.Parameter.empty, default=_Shown.of(one.default))
        for one in taken
        if one.name != "self"
    ]
    return f"{name}{inspect.Signature(plain)}"


class _Shown(str):
    """A default whose repr() is plain text, such as time.perf_counter."""

    __repr__ = str.__str__

    @classmethod
    def of(cls, default: Any) -> Any:
        return (
            cls(f"{default.__module__}.{default.__name__}")
            if callable(default) and default is not inspect.Parameter.empty
            else default
        )


# How users write calls of special methods.
SPECIAL = {"__len__": "len({})", "__getitem__": "{}[i]"}


def members(owner: Any) -> list[tuple[str, Any]]:
    """Returns the documented public methods and properties of a class in source order."""
    return [
        (n, m)
        for n, m in vars(owner).items()
        if (n in SPECIAL or not n.startswith("_")) and documented(m)
    ]


def documented(member: Any) -> bool:
    """Returns whether a member is a method or property with a docstring."""
    if not inspect.isfunction(member) and not isinstance(member, property | cached_property):
        return False
    return bool(getattr(member, "func", member).__doc__)


def methods(owner: Any, without: Collection[str] = ()) -> str:
    parts = []
    for name, member in members(owner):
        if name in without:
            continue
        if name in SPECIAL:
            line = SPECIAL[name].format(owner.__name__.lower())
            parts.append(f"**`{line}`**\n\n{documentation(member)}\n")
        elif inspect.isfunction(member):
            parts.append(f"**`{signature(name, member)}`**\n\n{documentation(member)}\n")
        else:
            whole = getattr(member, "func", member)  # a cached property has the attribute "func"
            parts.append(f"**`{name}`** (attribute)\n\n{documentation(whole)}\n")
    return "\n".join(parts)
