"""Finds the transform behind a function or class that only calls it, such as torchvision's ClassificationPresetTrain.

    class Preset:                                        lambda image: compose(image)
        def __call__(self, image):                       functools.partial(compose)
            return self.transforms(image)

Such a function is recognized by its code: it must be equal to the code of a function of this form, which is compiled
for the comparison. Nothing of the user is executed, and no source is read.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import sys
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ..transforms.unmodified import changed_call, is_foreign

_FORMS = (
    "def f({arguments}): return {callee}({image})",
    "def f({arguments}):\n {image} = {callee}({image})\n return {image}",
    "def f({arguments}):\n {other} = {callee}({image})\n return {other}",
)
_PARTS = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount")
_OTHER_KINDS = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
_MISSING: Any = object()


class Unclear(Exception):
    """Says why it is not certain that a step only calls one transform."""


def held_by(step: Any, is_known: Callable[[Any], bool]) -> Any:
    """Returns the known transform that a step only calls, or the step itself if it has another form.

    Raises Unclear if the step has this form, but may call something else.
    """
    inner = step
    seen: list[Any] = []
    while not is_known(inner):
        if any(inner is other for other in seen):  # another form, or a cycle
            return step
        seen.append(inner)
        inner = _held(inner)
    return inner


def _held(step: Any) -> Any:
    if type(step) is functools.partial:
        if step.args or step.keywords:
            raise Unclear("functools.partial has arguments")
        return step.func
    function, owner, is_forward = _function(step)
    if function is None:
        return step
    chain = _chain(function.__code__, owner is not _MISSING)
    if chain is None:
        _check_arguments(function, owner is not _MISSING)
        return step
    if is_forward and (found := changed_call(step) or _own_call(step)):
        raise Unclear(found)
    root, *names = chain
    held = owner if root == "" else _variable(function, root)
    for name in names:
        held = _attribute(held, name)
    return held


# --- the code of a function ----------------------------------------------------------------------


def _function(step: Any) -> tuple[Any, Any, bool]:
    """Returns the function that a call of `step` runs, its owner, and whether torch.nn.Module calls it as forward."""
    function: Any
    owner, is_forward = step, False
    if isinstance(step, FunctionType):
        function, owner = step, _MISSING
    elif isinstance(step, MethodType):
        function, owner = step.__func__, step.__self__
    else:
        function = _of_class(type(step), "__call__")
        if _is_module(step) and function is _module_class().__call__:
            function, is_forward = _of_class(type(step), "forward"), True
    return (function if isinstance(function, FunctionType) else None), owner, is_forward


@functools.lru_cache(256)
def _chain(code: CodeType, has_owner: bool) -> tuple[str, ...] | None:
    """Returns the names in `a.b.c(image)` if the code only returns this call. An empty first name is the owner.

    has_owner  the first argument is the object that the function is a method of
    """
    names = [*code.co_varnames, *code.co_names, *code.co_freevars]
    if any(not name.isidentifier() or keyword.iskeyword(name) for name in names):
        return None
    if code.co_argcount != 1 + has_owner or code.co_kwonlyargcount or code.co_flags & _OTHER_KINDS:
        return None
    arguments = code.co_varnames[: code.co_argcount]
    roots = [code.co_freevars + code.co_names]
    if has_owner:
        roots.append(arguments[:1] + code.co_names)
    for chain in filter(None, roots):
        given = {"arguments": ", ".join(arguments), "callee": ".".join(chain)}
        given |= {"image": arguments[-1], "other": code.co_varnames[-1]}
        for form in _FORMS:
            made = _compiled(form.format(**given), code.co_freevars)
            if all(getattr(made, part) == getattr(code, part) for part in _PARTS):
                is_owner = has_owner and chain[0] == arguments[0]
                return ("" if is_owner else chain[0], *chain[1:])
    return None


def _compiled(text: str, free: tuple[str, ...]) -> Any:
    """Compiles a function whose names in `free` are variables of an outer function."""
    if free:
        lines = [f"{name} = 0" for name in free] + text.splitlines()
        text = "def outer():\n" + "\n".join(f" {line}" for line in lines)
    made: Any = compile(text, "", "exec", dont_inherit=True)
    for _ in range(2 if free else 1):
        made = next(constant for constant in made.co_consts if inspect.iscode(constant))
    return made


def _check_arguments(function: Any, has_owner: bool) -> None:
    """Raises Unclear for a joint transform, which a dataset with a single transform cannot call."""
    code = function.__code__
    count = code.co_argcount - len(function.__defaults__ or ())
    if count > 1 + has_owner:
        names = " and ".join(code.co_varnames[has_owner:count])
        raise Unclear(f"it takes {names}, but the dataset passes the image alone")


# --- what a name in the code refers to -----------------------------------------------------------


def _variable(function: Any, name: str) -> Any:
    code = function.__code__
    if name in code.co_freevars:
        try:
            return function.__closure__[code.co_freevars.index(name)].cell_contents
        except ValueError:
            raise Unclear(f"the variable {name} is not assigned") from None
    if name not in function.__globals__:
        raise Unclear(f"{name} is not a variable of its file")
    return function.__globals__[name]


def _attribute(owner: Any, name: str) -> Any:
    """Returns an attribute that Python finds without running any code of the user. Raises Unclear otherwise."""
    if type(owner) is ModuleType and name in vars(owner):
        return vars(owner)[name]
    kind = type(owner)
    if _of_class(kind, "__getattribute__") is not object.__getattribute__:
        raise Unclear(f"{kind.__name__} defines how its attributes are found (__getattribute__)")
    hook = _of_class(kind, "__getattr__")
    of_torch = _is_module(owner) and hook is _module_class().__getattr__ and not is_foreign(hook)
    if hook is not _MISSING and not of_torch:
        raise Unclear(f"{kind.__name__} defines how its attributes are found (__getattr__)")
    shared = _of_class(kind, name)
    if hasattr(type(shared), "__get__"):
        raise Unclear(f"{kind.__name__}.{name} is computed")
    held = getattr(owner, "__dict__", {})
    children = held.get("_modules", {}) if of_torch else {}
    found = held.get(name, shared)
    if found is _MISSING:
        found = children.get(name, _MISSING)
    if found is _MISSING:
        raise Unclear(f"{kind.__name__} has no attribute {name}")
    return found


def _of_class(kind: type, name: str) -> Any:
    """Returns an attribute of a class as it is stored, without a metaclass or a descriptor."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), _MISSING)


def _module_class() -> Any:
    return sys.modules["torch"].nn.Module


def _is_module(step: Any) -> bool:
    return "torch" in sys.modules and isinstance(step, _module_class())


_CALLS = ("forward", "_call_impl", "_wrapped_call_impl", "_slow_forward", "_compiled_call_impl")


def _own_call(step: Any) -> str:
    """Describes a replaced part of torch.nn.Module.__call__; empty if there is none."""
    plain = vars(_module_class())
    for name in _CALLS:
        on_instance = vars(step).get(name) is not None
        in_class = name != "forward" and _of_class(type(step), name) is not plain.get(
            name, _MISSING
        )
        if on_instance or in_class:
            return f"{name} was replaced"
    return ""
