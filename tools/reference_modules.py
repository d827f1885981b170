"""Writes the sections of docs/reference.md on tundish.optim, tundish.tuning and tundish.diagnosis.

make_reference.py inserts the result of sections() into the page.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import re
import textwrap
import tokenize
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from reference_text import documentation, methods, shown, signature, table

OPTIM = """[optimizers.md](optimizers.md) shows how to use them and has their formulas. The arguments are the
original's. In addition all optimizers but `Muon` take the options below."""
TUNING = """[tune.md](tune.md), [tricks.md](tricks.md), [training-memory.md](training-memory.md) and
[resume.md](resume.md#seed-everything) show how to use them."""
TRICKS = """A plan file and `tundish tune` use these names. [tricks.md](tricks.md) explains each trick, and
says when `tundish.tune` tries it."""
DIAGNOSIS = """[doctor.md](doctor.md) and [check.md](check.md) show how to use them."""

# Dataclasses that users construct. All other dataclasses are results of functions.
MADE_BY_USERS = ("Job", "Trick")
# Methods that only this package or a framework calls, so they are not documented.
INTERNAL = ("setup", "on_train_start", "loss_of", "train_on", "add_gradients", "update")


def sections() -> list[str]:
    return [optim(), tuning(), diagnosis()]


def optim() -> str:
    module = importlib.import_module("tundish.optim")
    base, options = optimizer_base(module)
    rows = [
        (f"`{field.name}`", f"`{shown(field.default)}`", comments(options).get(field.name, ""))
        for field in fields(options)
    ]
    shared = "\n".join(member(base, name) for name in ("grad_norm", "averaged"))
    parts = [
        f"## tundish.optim\n\n{OPTIM}\n",
        *(entry("tundish.optim", name) for name in module.__all__),
        f"### Options\n\n{table(('argument', 'default', 'meaning'), rows)}\n\n{shared}",
    ]
    return "\n".join(parts)


def optimizer_base(module: Any) -> tuple[type, type]:
    """Returns the base class of the optimizers, and the dataclass with their shared options."""
    base = next(kind for kind in module.SGD.__mro__ if kind.__name__ == "EngineOptimizer")
    return base, importlib.import_module("tundish.optim._binding.step_options").Options


def tuning() -> str:
    module = importlib.import_module("tundish.tuning")
    tricks = [name for name in module.__all__ if is_trick(module, name)]
    others = [name for name in module.__all__ if name not in tricks]
    others.sort(key=lambda name: inspect.isclass(getattr(module, name)))  # functions first
    rows = [trick_row(getattr(module, name)) for name in tricks]
    head = ("trick", "name", "grade", "what it does")
    parts = [
        f"## tundish.tuning\n\n{TUNING}\n",
        *(entry("tundish.tuning", name) for name in others),
        f"### Tricks\n\n{TRICKS}\n\n{table(head, rows)}\n",
    ]
    return "\n".join(parts)


def is_trick(module: Any, name: str) -> bool:
    one = getattr(module, name)
    return isinstance(one, type) and issubclass(one, module.Trick) and one is not module.Trick


def trick_row(kind: Any) -> tuple[str, ...]:
    about = inspect.cleandoc(kind.__doc__).split("\n\n")[0]
    return f"`{signature(kind.__name__, kind)}`", f"`{kind.name}`", kind.grade.value, about


def diagnosis() -> str:
    module = importlib.import_module("tundish.diagnosis")
    parts = [f"## tundish.diagnosis\n\n{DIAGNOSIS}\n"]
    return "\n".join([*parts, *(entry("tundish.diagnosis", name) for name in module.__all__)])


# --- one name -------------------------------------------------------------------------------------


def entry(module: str, name: str) -> str:
    """Documents a function or a class with its signature. For a class, adds its fields and members."""
    one = getattr(importlib.import_module(module), name)
    parts = [f"### {name}", f"`{call(module, name, one)}`", documentation(one)]
    if inspect.isclass(one):
        own_init = "__init__" in vars(one) and not is_dataclass(one)
        if own_init and one.__init__.__doc__:
            parts.append(documentation(one.__init__))
        parts += [text for text in (field_table(one), methods(one, INTERNAL).rstrip()) if text]
    return "\n\n".join(parts) + "\n"


def call(module: str, name: str, one: Any) -> str:
    """Formats a call as users write it. For a class that functions return, returns only its name."""
    if not inspect.isclass(one) or not is_result(one):
        return signature(f"{module}.{name}", one)
    return f"{module}.{name}"


def is_result(kind: type) -> bool:
    """Returns whether users never construct the class, because functions return it or it is an enum."""
    made = kind.__name__ in MADE_BY_USERS or not is_dataclass(kind)
    return not made or issubclass(kind, Enum) or kind.__name__ == "FlatParameters"


def member(owner: type, name: str) -> str:
    """Documents one method or property, possibly inherited."""
    one = inspect.getattr_static(owner, name)
    if inspect.isfunction(one):
        line = signature(f"optimizer.{name}", one)
        return f"**`{line}`**\n\n{documentation(one)}\n"
    return f"**`optimizer.{name}`** (attribute)\n\n{documentation(one)}\n"


def field_table(kind: type) -> str:
    """Returns a table of a dataclass's public fields with their comments, or "" without comments."""
    if not is_dataclass(kind):
        return ""
    said = comments(kind)
    rows = [
        (f"`{field.name}`", said.get(field.name, ""))
        for field in fields(kind)
        if not field.name.startswith("_")
    ]
    return table(("field", "meaning"), rows) if rows and any(row[1] for row in rows) else ""


def comments(kind: type) -> dict[str, str]:
    """Returns the comment of each field, which is on the field's lines or on the line above it."""
    source = textwrap.dedent(inspect.getsource(kind))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    found = {
        token.start[0]: re.sub(r"^#\s*", "", token.string)
        for token in tokens
        if token.type == tokenize.COMMENT
    }
    alone = {n for n, line in enumerate(source.splitlines(), 1) if line.lstrip().startswith("#")}
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    return {
        node.target.id: " ".join(found[line] for line in lines)
        for node in body.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if (
            lines := [n for n in range(node.lineno, (node.end_lineno or 0) + 1) if n in found]
            or [n for n in [node.lineno - 1] if n in alone]
        )
    }
