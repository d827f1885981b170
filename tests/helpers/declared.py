"""Finds names of tundish in a document and checks that `__all__` declares them."""

import importlib
import inspect
import re

PUBLIC_MODULES = (
    "tundish",
    "tundish.transforms",
    "tundish.optim",
    "tundish.tuning",
    "tundish.diagnosis",
)

FROM = re.compile(r"\bfrom (tundish(?:\.\w+)*) import (\([^)]*\)|\*|\w[\w, ]*)")
DOTTED = re.compile(r"(?<![\w./-])tundish(?:\.[A-Za-z_]\w*)+")
SPECIAL = {"__version__", "__doc__", "__all__"}


def undeclared(text):
    """Returns names of tundish in a text that `__all__` does not declare."""
    named = [*imported(text), *DOTTED.findall(text), *attributes_of_aliases(text)]
    return list(dict.fromkeys(name for name in named if not is_declared(name)))


def imported(text):
    """Returns imported names: tundish.x.a and tundish.x.b for `from tundish.x import a, b as c`."""
    for module, names in FROM.findall(text):
        for name in names.strip("()").split(","):
            words = name.split()
            if words:
                yield f"{module}.{words[0]}"


def attributes_of_aliases(text):
    """Returns names used through an alias: tundish.transforms.Resize for `T.Resize`."""
    for module, names in FROM.findall(text):
        for name in names.strip("()").split(","):
            words = name.split()
            whole = f"{module}.{words[0]}" if words else ""
            if whole in PUBLIC_MODULES:
                used = re.findall(rf"(?<![\w./-]){words[-1]}\.([A-Za-z_]\w*)", text)
                yield from (f"{whole}.{one}" for one in used)


def is_declared(name):
    """Returns whether every part of a name is in `__all__` or is an attribute of a class."""
    owner = importlib.import_module("tundish")
    for part in name.split(".")[1:]:
        if inspect.ismodule(owner):
            if part not in SPECIAL and part not in owner.__all__:
                return False
        elif not hasattr(owner, part) and part not in getattr(owner, "__annotations__", {}):
            return False
        owner = getattr(owner, part, None)
    return True
