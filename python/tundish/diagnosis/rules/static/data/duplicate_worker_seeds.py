"""Detects workers that draw the same random numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import argument
from ....script.loaders import dataset_class, loader_calls, method
from ....script.names import written
from ..static_rule import Occurrence, StaticRule

_GENERATORS = (
    "numpy.random.default_rng",
    "numpy.random.RandomState",
    "random.Random",
    "torch.Generator",
)
_RESEEDS = ("seed", "manual_seed", "set_state", "setstate", "bit_generator")
_SEEDS = ("numpy.random.seed", "random.seed", "torch.manual_seed")


def find(script: Script) -> Iterator[Occurrence]:
    for loader in loader_calls(script):
        workers = argument(loader, "num_workers", 5)
        if workers is None or script.constant(workers) == 0:
            continue
        start = argument(loader, "worker_init_fn")
        if start is not None:
            yield from _same_seed(script, start)
        elif "get_worker_info" not in "\n".join(script.source.lines):
            made_by = dataset_class(script, loader)
            if made_by is not None:
                yield from _copied_generators(script, made_by)


def _copied_generators(script: Script, made_by: ast.ClassDef) -> Iterator[Occurrence]:
    """Finds random generators that are created in the parent process and used in __getitem__.

    Every worker gets a copy of such a generator in the same state.
    """
    getter = method(made_by, "__getitem__") or method(made_by, "__iter__")
    if getter is None:
        return
    for call in script.inside(getter, ast.Call):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not isinstance(owner, ast.Name | ast.Attribute) or _is_reseeded(script, getter, owner):
            continue
        for binding in script.bindings(owner):
            value = binding.value
            if not isinstance(value, ast.Call) or script.name(value.func) not in _GENERATORS:
                continue
            if getattr(script.function(value), "name", "__init__") == "__init__":
                yield Occurrence(
                    call,
                    f"every worker draws the same numbers from its own copy of {written(owner)}",
                    "seed it per worker in worker_init_fn from torch.initial_seed(), or draw from torch.rand",
                )
                return


def _is_reseeded(script: Script, getter: ast.FunctionDef, generator: ast.expr) -> bool:
    """Returns whether __getitem__, or a method that it calls, seeds or replaces the generator."""
    name = written(generator)
    functions: list[ast.AST] = [getter]
    made_by = script.enclosing_class(getter)
    for call in script.inside(getter, ast.Call):
        owner, _, called = written(call.func).partition(".")
        helper = method(made_by, called) if made_by is not None and owner == "self" else None
        functions += [helper] if helper is not None else []
    for function in functions:
        for node in script.inside(function, ast.Attribute):
            owned = written(node.value) == name
            if owned and node.attr in _RESEEDS:
                return True
        targets: list[ast.Attribute | ast.Name] = [
            *script.inside(function, ast.Attribute),
            *script.inside(function, ast.Name),
        ]
        if any(isinstance(node.ctx, ast.Store) and written(node) == name for node in targets):
            return True
    return False


def _same_seed(script: Script, start: ast.expr) -> Iterator[Occurrence]:
    """Finds seeds in worker_init_fn that do not depend on the worker."""
    function: ast.AST | None = start if isinstance(start, ast.Lambda) else script.definition(start)
    if not isinstance(function, ast.Lambda | ast.FunctionDef) or not function.args.args:
        return
    for call in script.inside(function, ast.Call):
        if script.name(call.func) not in _SEEDS or not call.args:
            continue
        if isinstance(script.constant(call.args[0]), int):
            yield Occurrence(
                call,
                "every worker gets the same seed, so all workers draw the same random numbers",
                "use the worker's seed: torch.initial_seed() % 2**32",
            )


RULE = StaticRule(
    id="duplicate-worker-seeds",
    title="all workers draw the same random numbers",
    level="error",
    reason="A generator created before the workers start is copied into each worker in the same state: several "
    "samples of a batch get the same augmentation, and with new workers every epoch repeats the previous one. "
    "(torch 1.9 and later seed np.random, random and torch per worker, but not your own generators.)",
    fix="Create or seed the generator in worker_init_fn from torch.initial_seed(), or draw from torch.rand. "
    "tundish.Loader derives random numbers from seed, epoch and position.",
    before="self.rng = np.random.default_rng(0)  # in __init__\nself.rng.random()  # in __getitem__",
    after="def seed_worker(worker):\n"
    "    data = torch.utils.data.get_worker_info().dataset\n"
    "    data.rng = np.random.default_rng(torch.initial_seed())\n\n\n"
    "loader = DataLoader(dataset, num_workers=8, worker_init_fn=seed_worker)",
    find=find,
    silent="np.random.rand() and random.random(), which torch has seeded per worker since 1.9; "
    "generators that __getitem__ seeds or creates",
)
