"""Finds code that runs once per training step, and loops that evaluate a model."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .bindings import FUNCTIONS, end_position, start_position
from .names import written

if TYPE_CHECKING:
    from .script import Script

_STEP_FUNCTIONS = {
    "training_step",
    "train_step",
    "train_batch",
    "train_one_batch",
    "train_one_step",
}
_RANK_NAMES = ("is_main_process", "is_local_main_process", "rank", "is_master", "master_process")
_NO_GRAD = {"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad"}


class Loops:
    """The training loops of a script, and the functions that run once per step.

    Both are called regions.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self.backward_calls = script.methods("backward", "manual_backward")
        self.step_calls = self._find_steps()
        self.training = self._find_training()
        self.functions = self._find_functions()
        self._regions: dict[ast.AST, ast.AST | None] = {}  # results of step_region()

    def _find_steps(self) -> list[ast.Call]:
        found = []
        for call in self._script.methods("step"):
            owner = call.func.value if isinstance(call.func, ast.Attribute) else None
            scaler = "scaler" in written(owner or call).lower() and bool(call.args)
            if scaler or self._script.values.infer(owner).kind == "optimizer":
                found.append(call)
        return found

    def _find_training(self) -> list[ast.AST]:
        """Returns the innermost loops that contain backward() or an optimizer step.

        If such a loop does not iterate over a loader, but the next outer loop does, returns both.
        """
        found: dict[int, ast.AST] = {}
        for call in [*self.backward_calls, *self.step_calls]:
            around = self._script.loops_around(call)
            if not around:
                continue
            found[id(around[0])] = around[0]
            if len(around) > 1 and not self.over_loader(around[0]) and self.over_loader(around[1]):
                found[id(around[1])] = around[1]
        return list(found.values())

    def over_loader(self, loop: ast.AST) -> bool:
        if not isinstance(loop, ast.For | ast.AsyncFor):
            return False
        return self.loader_in(loop.iter) is not None

    def loader_in(self, iterated: ast.expr) -> ast.expr | None:
        """Returns the loader in `loader`, `enumerate(loader)`, `tqdm(loader)` and similar expressions."""
        for _ in range(4):
            if self._script.values.infer(iterated).kind == "loader":
                if not isinstance(iterated, ast.Call):
                    return iterated
                if self._script.name(iterated.func).endswith(("DataLoader", "Loader")):
                    return iterated
            if not isinstance(iterated, ast.Call) or not iterated.args:
                return None
            iterated = iterated.args[0]
        return None

    def _find_functions(self) -> list[ast.AST]:
        """Returns the functions that run once per step.

        These are forward() methods of modules, Lightning's training_step(), and functions that are
        called in a loop and call backward() outside their own loops.
        """
        script = self._script
        found: dict[int, ast.AST] = {}
        for call in self.backward_calls:
            function = script.function(call)
            name = getattr(function, "name", "")
            if not name or script.loops_around(call):
                continue
            if name in _STEP_FUNCTIONS or self._called_in_loop(name):
                found[id(function)] = function
        for method in [*script.nodes(ast.FunctionDef)]:
            owner = script.parents.get(method)
            if not isinstance(owner, ast.ClassDef) or not script.values.is_module_class(owner):
                continue
            if method.name in ("forward", "training_step"):
                found[id(method)] = method
        return list(found.values())

    def _called_in_loop(self, name: str) -> bool:
        return any(self._script.loops_around(call) for call in self._script.calls_named(name))

    # --- queries for checks -----------------------------------------------------------------------

    def step_region(self, node: ast.AST) -> ast.AST | None:
        """Returns the training loop or step function that contains this node, or None."""
        if node not in self._regions:
            self._regions[node] = self._find_step_region(node)
        return self._regions[node]

    def _find_step_region(self, node: ast.AST) -> ast.AST | None:
        around = self._script.loops_around(node)
        for loop in around:
            if any(loop is training for training in self.training):
                return loop
        function = self._script.function(node)
        if any(function is candidate for candidate in self.functions):
            return function
        return None

    def each_step(self, node: ast.AST) -> ast.AST | None:
        """Returns the region (see Loops) if the node runs in every step, otherwise None.

        A node inside an `if` or an `except`, or after a `continue`, does not run in every step. An `if`
        that tests the rank is ignored.
        """
        region = self.step_region(node)
        if region is None or self._under_no_grad_function(node, region):
            return None
        below = node
        for ancestor in self._script.ancestors(node):
            if isinstance(ancestor, ast.ExceptHandler | ast.IfExp | ast.Assert | ast.Raise):
                return None
            if (
                isinstance(ancestor, ast.If)
                and below is not ancestor.test
                and not self._is_rank_test(ancestor.test)
            ):
                return None
            if isinstance(ancestor, ast.BoolOp) and below is not ancestor.values[0]:
                return None
            if isinstance(ancestor, ast.stmt) and self._skipped_before(ancestor, region):
                return None
            if ancestor is region:
                return region
            below = ancestor
        return region

    def waits_each_step(self, node: ast.AST) -> bool:
        """Returns whether the node makes every step wait for the GPU, and the wait can be avoided.

        Returns False if the loop needs values on the CPU, for example the actions of a reinforcement
        learning model.
        """
        region = self.each_step(node)
        if region is None:
            return False
        return not any(
            written(call.func).rpartition(".")[0].rpartition(".")[2].startswith("env")
            for call in self._script.methods("step")
            if self._script.is_inside(call, region)
        )

    def _is_rank_test(self, test: ast.expr) -> bool:
        """Recognizes `rank == 0` and similar conditions, which are true in every step on some rank."""
        if isinstance(test, ast.BoolOp):
            parts = [self._is_rank_test(operand) for operand in test.values]
            return any(parts) if isinstance(test.op, ast.Or) else all(parts)
        if isinstance(test, ast.Compare):
            test = test.left
        if isinstance(test, ast.Call):
            test = test.func
        return written(test).rpartition(".")[2].endswith(_RANK_NAMES)

    def _skipped_before(self, statement: ast.stmt, region: ast.AST) -> bool:
        """Detects `if step % 10: continue` (or return) before the statement in the same block.

        Does not count guards, such as a test of the loss for NaN, or a test that skips the whole step
        including its backward pass.
        """
        parent = self._script.parents.get(statement)
        block: list[ast.stmt] = getattr(parent, "body", [])
        if not isinstance(block, list) or statement not in block:
            return False
        for before in block[: block.index(statement)]:
            if not isinstance(before, ast.If) or not any(
                isinstance(statement, ast.Continue | ast.Return) for statement in before.body
            ):
                continue
            if not (self._is_rare(before.test) or self._trains_after(before, region)):
                return True
        return False

    def _is_rare(self, test: ast.expr) -> bool:
        """Recognizes conditions that are rarely true: `torch.isnan(loss)`, `loss > 100`, `x is None`."""
        if isinstance(test, ast.BoolOp):
            return all(self._is_rare(operand) for operand in test.values)
        if isinstance(test, ast.UnaryOp):
            return self._is_rare(test.operand)
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot):
            return True
        function = getattr(test, "func", None)
        last = getattr(function, "attr", "") or getattr(function, "id", "")
        if last in ("isnan", "isinf", "isfinite"):
            return True
        if isinstance(function, ast.Attribute) and last in ("any", "all", "item"):
            return self._is_rare(function.value)
        return self._script.values.infer(test).kind == "tensor"

    def _trains_after(self, guard: ast.If, region: ast.AST) -> bool:
        return any(
            start_position(call) > end_position(guard) and self._script.is_inside(call, region)
            for call in self.backward_calls
        )

    def _under_no_grad_function(self, node: ast.AST, region: ast.AST) -> bool:
        return isinstance(region, FUNCTIONS) and self.without_grad(node)

    def without_grad(self, node: ast.AST) -> bool:
        """Returns whether gradients are disabled at a node, for example by `torch.no_grad()`."""
        script = self._script
        for ancestor in script.ancestors(node):
            items = ancestor.items if isinstance(ancestor, ast.With | ast.AsyncWith) else []
            if any(self._disables_grad(item.context_expr) for item in items):
                return True
            if isinstance(ancestor, ast.FunctionDef | ast.AsyncFunctionDef):
                return any(self._disables_grad(mark) for mark in ancestor.decorator_list)
        return False

    def called_without_grad(self, function: ast.AST) -> bool:
        """Returns whether the script calls a function only where gradients are disabled."""
        calls = self._script.calls_named(getattr(function, "name", ""))
        return bool(calls) and all(self.without_grad(call) for call in calls)

    def _disables_grad(self, expression: ast.expr) -> bool:
        function = expression.func if isinstance(expression, ast.Call) else expression
        name = self._script.name(function)
        if name in _NO_GRAD:
            return True
        if name == "torch.set_grad_enabled" and isinstance(expression, ast.Call):
            first = expression.args[0] if expression.args else None
            return not (isinstance(first, ast.Constant) and first.value is True)
        return "no_grad" in written(function) or "inference" in written(function)
