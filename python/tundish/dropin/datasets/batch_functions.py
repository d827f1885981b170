"""Interprets a function given to `set_transform` of a Hugging Face dataset, if it has one of two known forms.

    def augment(batch):                                                def augment(batch):
        batch["x"] = [t(i.convert("RGB")) for i in batch["image"]]         x = [t(i.convert("RGB")) for i in batch["image"]]
        del batch["image"]                                                 return {"x": x, "labels": batch["label"]}
        return batch

If the function contains any other statement, name or call, only Python can run it. This module reads the source code
and never executes the function.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import weakref
from dataclasses import dataclass
from types import CodeType
from typing import Any


@dataclass(frozen=True)
class BatchFunction:
    """What a function returns for a batch."""

    columns: dict[str, str]  # source column of each result column
    image: str  # result column with the transformed images
    transform: Any  # called for each image
    mode: str | None  # "RGB" if the function calls convert("RGB"); None: the image's own mode


# The parsed source of functions, by code object. The source file may be edited or removed later in the run.
_read: weakref.WeakKeyDictionary[CodeType, ast.FunctionDef] = weakref.WeakKeyDictionary()


def read_function(function: Any, columns: list[str]) -> BatchFunction | None:
    """Returns what a function does, or None if its form is unknown or its source differs from its code."""
    definition = _definition(function)
    if definition is None or not _has_one_argument(definition.args):
        return None
    reader = _Reader(function, definition.args.args[0].arg, columns)
    body = definition.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # skip the docstring
    if (
        not body
        or not all(reader.read_statement(statement) for statement in body[:-1])
        or not reader.read_return(body[-1])
    ):
        return None
    if reader.image is None or reader.image not in reader.out:
        return None
    return BatchFunction(reader.out, reader.image, reader.transform, reader.mode)


def _definition(function: Any) -> ast.FunctionDef | None:
    if (
        not inspect.isfunction(function)
        or function.__defaults__
        or hasattr(function, "__wrapped__")
    ):
        return None
    if function.__code__ in _read:
        return _read[function.__code__]
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    found = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(found, ast.FunctionDef) or found.decorator_list:
        return None
    if not _is_compiled(found, function.__code__):
        return None
    return _read.setdefault(function.__code__, found)


def _is_compiled(definition: ast.FunctionDef, code: Any) -> bool:
    """Returns whether `definition` compiles to `code`. It may not, if the file was edited after the import."""
    names = code.co_freevars
    inner = ast.Module([definition], [])
    if names:  # recompile it inside a function that defines these names
        text = "def outer():\n" + "".join(f"  {name} = 0\n" for name in names)
        outer = ast.parse(text).body[0]
        assert isinstance(outer, ast.FunctionDef)
        outer.body.append(definition)
        inner = ast.Module([outer], [])
    made: Any = compile(ast.fix_missing_locations(inner), "", "exec", dont_inherit=True)
    for _ in range(2 if names else 1):
        made = next(constant for constant in made.co_consts if inspect.iscode(constant))
    return _same_code(made, code)


def _same_code(first: Any, other: Any) -> bool:
    parts = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars")
    if any(getattr(first, part) != getattr(other, part) for part in parts):
        return False
    if len(first.co_consts) != len(other.co_consts):
        return False
    for mine, theirs in zip(first.co_consts, other.co_consts, strict=True):
        if inspect.iscode(mine) and inspect.iscode(theirs):
            if not _same_code(mine, theirs):
                return False
        elif isinstance(mine, str) and mine.endswith(("<listcomp>", other.co_name)):
            continue  # a qualified name, which may differ
        elif type(mine) is not type(theirs) or mine != theirs:
            return False
    return True


def _has_one_argument(arguments: ast.arguments) -> bool:
    others = (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs, *arguments.posonlyargs)
    return len(arguments.args) == 1 and not any(others)


class _Reader:
    """Tracks the columns of the batch from statement to statement."""

    def __init__(self, function: Any, batch: str, columns: list[str]) -> None:
        self._function, self._batch = function, batch
        self._columns = columns
        self.out = {name: name for name in columns}
        self.image: str | None = None
        self.transform: Any = None
        self.mode: str | None = None
        self._held: tuple[str, str | None] = (
            "",
            None,
        )  # a local variable with images, and their source column

    def read_statement(self, statement: ast.stmt) -> bool:
        """Interprets batch["x"] = [...], x = [...] or del batch["x"]. Returns False for any other statement."""
        if isinstance(statement, ast.Delete) and len(statement.targets) == 1:
            name = self._column(statement.targets[0])
            return name is not None and self.out.pop(name, None) is not None
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return False
        target, value = statement.targets[0], statement.value
        if isinstance(target, ast.Name) and isinstance(value, ast.ListComp):
            fresh = not self._held[0] and self.image is None and target.id != self._batch
            self._held = (target.id, self._images(value))
            return fresh and self._held[1] is not None
        name = self._column(target)
        return name is not None and self._assign(self.out, name, value)

    def read_return(self, statement: ast.stmt) -> bool:
        """Interprets `return batch` or `return {...}`. Returns False for any other statement."""
        if not isinstance(statement, ast.Return):
            return False
        value = statement.value
        if isinstance(value, ast.Name):
            return value.id == self._batch
        if not isinstance(value, ast.Dict) or self.image is not None:
            return False
        made: dict[str, str] = {}
        for key, item in zip(value.keys, value.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                return False
            if not self._assign(made, key.value, item):
                return False
        self.out = made
        return True

    def _assign(self, out: dict[str, str], name: str, value: ast.expr) -> bool:
        source = self._column(value)
        if source is not None and name != self.image:
            out[name] = self.out.get(source, "")
            return source in self.out and source != self.image
        if self.image is not None:
            return False
        if isinstance(value, ast.Name) and value.id == self._held[0]:
            source = self._held[1]
        elif isinstance(value, ast.ListComp) and not self._held[0]:
            source = self._images(value)
        self.image = name
        if source is None or self.out.get(source) != source:
            return False
        out[name] = source
        return True

    def _images(self, value: ast.ListComp) -> str | None:
        """Returns the column in [t(i.convert("RGB")) for i in batch["column"]] and stores t as the transform.

        Returns None for any other expression.
        """
        loop, call = value.generators[0], value.elt
        if len(value.generators) != 1 or loop.ifs or loop.is_async:
            return None
        if not isinstance(loop.target, ast.Name) or not isinstance(call, ast.Call):
            return None
        if not isinstance(call.func, ast.Name) or len(call.args) != 1 or call.keywords:
            return None
        if call.func.id in (self._batch, loop.target.id) or not self._find(call.func.id):
            return None
        return self._column(loop.iter) if self._image(call.args[0], loop.target.id) else None

    def _image(self, value: ast.expr, name: str) -> bool:
        """Returns whether the expression is i or i.convert("RGB")."""
        if isinstance(value, ast.Name):
            return value.id == name
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return False
        self.mode = "RGB"
        modes = [arg.value for arg in value.args if isinstance(arg, ast.Constant)]
        method, owner = value.func.attr, value.func.value
        is_convert = method == "convert" and isinstance(owner, ast.Name) and owner.id == name
        return is_convert and modes == ["RGB"] and len(value.args) == 1 and not value.keywords

    def _column(self, value: ast.expr) -> str | None:
        """Returns the name in batch["name"], or None."""
        if not isinstance(value, ast.Subscript) or not isinstance(value.slice, ast.Constant):
            return None
        owned = isinstance(value.value, ast.Name) and value.value.id == self._batch
        return value.slice.value if owned and isinstance(value.slice.value, str) else None

    def _find(self, name: str) -> bool:
        """Stores the object that a name in the function refers to. Returns whether there is one."""
        code = self._function.__code__
        if name in code.co_freevars:
            cell = self._function.__closure__[code.co_freevars.index(name)]
            try:
                self.transform = cell.cell_contents
            except ValueError:  # the variable is not assigned yet
                return False
            return True
        self.transform = self._function.__globals__.get(name)
        return self.transform is not None
