"""Infers the kinds (tensor, model, loader, ...) and devices of variables.

If nothing else is known about a variable, such as a function parameter, its name decides: `model`,
`optimizer`, `train_loader`. Checks report nothing about unknown values.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from . import libraries
from .call_arguments import passed_arguments
from .names import written
from .value import NUMBER, UNKNOWN, Value, merge

if TYPE_CHECKING:
    from .bindings import Binding
    from .script import Script

_DEPTH = 40  # maximum depth of expressions and assignments to follow


class Values:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._known: dict[ast.AST, Value] = {}
        self._gpu: bool | None = None
        self._losses = loss_names(script)

    def infer(self, expression: ast.AST | None, depth: int = 0) -> Value:
        """Returns the value of an expression. Caches results; the value of a cyclic expression is unknown."""
        if expression is None or depth > _DEPTH:
            return UNKNOWN
        known = self._known.get(expression)
        if known is None:
            self._known[expression] = UNKNOWN
            known = self._known[expression] = self._compute(expression, depth)
        return known

    def is_gpu_tensor(self, expression: ast.AST | None) -> bool:
        value = self.infer(expression)
        return value.kind == "tensor" and value.device == "gpu"

    @property
    def uses_gpu(self) -> bool:
        """Whether the script mentions a GPU. If it does not, no line can wait for a GPU."""
        if self._gpu is None:
            self._gpu = libraries.names_a_gpu(self._script)
        return self._gpu

    @property
    def model_device(self) -> str:
        return "gpu" if self.uses_gpu else "cpu"

    def _compute(self, node: ast.AST, depth: int) -> Value:
        if isinstance(node, ast.Call):
            return self._call_value(node, depth)
        if isinstance(node, ast.Name | ast.Attribute):
            return self._name_value(node, depth)
        if isinstance(node, ast.Subscript):
            inner = self.infer(node.value, depth + 1)
            return inner if inner.kind in ("tensor", "batch", "array") else UNKNOWN
        if isinstance(node, ast.BinOp):
            return self._merged_operands([node.left, node.right], depth)
        if isinstance(node, ast.UnaryOp):
            return self.infer(node.operand, depth + 1)
        if isinstance(node, ast.Compare):
            if any(
                isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn)
                for operator in node.ops
            ):
                return NUMBER
            return self._merged_operands([node.left, *node.comparators], depth)
        if isinstance(node, ast.IfExp):
            return merge([self.infer(node.body, depth + 1), self.infer(node.orelse, depth + 1)])
        if isinstance(node, ast.Constant):
            return NUMBER if isinstance(node.value, int | float) else Value("other")
        if isinstance(node, ast.Await | ast.Starred):
            return self.infer(node.value, depth + 1)
        return UNKNOWN

    def _merged_operands(self, operands: list[ast.expr], depth: int) -> Value:
        """Combines operands. The result is a tensor if any operand is, and on the GPU if any operand is."""
        values = [self.infer(operand, depth + 1) for operand in operands]
        tensors = [value for value in values if value.kind == "tensor"]
        if tensors:
            return max(tensors, key=lambda tensor: ("", "cpu", "gpu").index(tensor.device))
        return merge(values)

    # --- names ------------------------------------------------------------------------------------

    def _name_value(self, node: ast.Name | ast.Attribute, depth: int) -> Value:
        bindings = self._script.bindings(node)
        if bindings:
            value = merge(self._bound(bindings, node, depth))
            if not value.kind and (self._script.function(node), written(node)) in self._losses:
                return Value("tensor", self.model_device)
            return value
        if isinstance(node, ast.Attribute):
            return self._attribute_value(node, depth)
        known = node.id in self._script.imports
        return UNKNOWN if known else by_conventional_name(node.id, self)

    def _bound(
        self, bindings: list[Binding], node: ast.Name | ast.Attribute, depth: int
    ) -> list[Value]:
        """Returns the values of all bindings. After `total = 0.0`, adding a tensor makes total a tensor."""
        pairs = [
            (binding.how, self._binding_value(binding, node, depth + 1)) for binding in bindings
        ]
        grows = any(how == "augment" and value is not None for how, value in pairs)
        found = [value for _, value in pairs if value is not None]
        return [value for value in found if value != NUMBER] if grows else found

    def _attribute_value(self, node: ast.Attribute, depth: int) -> Value:
        owner = self.infer(node.value, depth + 1)
        if owner.kind == "tensor":
            if node.attr in libraries.PLAIN_ATTRIBUTES:
                return Value("other")
            return owner
        if owner.kind == "batch":
            return owner
        if owner.kind == "model":
            return Value("tensor", owner.device) if node.attr in ("weight", "bias") else UNKNOWN
        return by_conventional_name(written(node), self) if not owner.kind else UNKNOWN

    def _binding_value(
        self, binding: Binding, node: ast.Name | ast.Attribute, depth: int
    ) -> Value | None:
        """Returns the value of a binding, or None for an uninformative one such as `loss = None`."""
        if binding.how == "parameter":
            return by_conventional_name(written(node), self) or self._passed(binding, node, depth)
        if isinstance(binding.value, ast.Constant) and binding.value.value is None:
            return None
        inner = self.infer(binding.value, depth)
        if binding.how in ("assign", "with"):
            made = binding.value
            if inner.kind or not isinstance(made, ast.Call):
                return inner
            foreign = libraries.is_not_torch(self._script.name(made.func))
            return inner if foreign else by_conventional_name(written(node), self)
        if binding.how == "augment":
            return inner if inner.kind == "tensor" else None
        if binding.how == "item":
            return self._item(binding, inner, node)
        if binding.how in ("each", "each_item"):
            return self._element(binding, inner, depth)
        return UNKNOWN

    def _passed(self, binding: Binding, node: ast.Name | ast.Attribute, depth: int) -> Value:
        """Returns the value that all calls of the function in this script pass for the parameter."""
        given = passed_arguments(self._script, binding.statement, node)
        return merge([self.infer(expression, depth + 1) for expression in given])

    def _item(self, binding: Binding, inner: Value, node: ast.AST) -> Value:
        made = binding.value
        if isinstance(made, ast.Call) and self.infer(made.func).kind == "criterion":
            return UNKNOWN  # loss, other = criterion(...): `other` may be a plain number
        if inner.kind in ("tensor", "batch"):
            return inner
        return by_conventional_name(
            written(node), self
        )  # model, optimizer = accelerator.prepare(...)

    def _element(self, binding: Binding, inner: Value, depth: int) -> Value:
        """Returns the value of x in `for x in value` and `for i, x in enumerate(value)`."""
        value, index = binding.value, binding.index
        if isinstance(value, ast.Call):
            name = self._script.name(value.func)
            if name == "enumerate" and value.args:
                top_level = isinstance(binding.target, ast.Name) and index == 0
                first = top_level and binding.how == "each_item" and _is_direct(binding)
                if first:
                    return NUMBER
                inner = self.infer(value.args[0], depth)
            elif name == "range":
                return NUMBER
        if inner.kind == "loader":
            return Value("batch", inner.device)
        return inner if inner.kind in ("tensor", "batch") else UNKNOWN

    # --- calls ------------------------------------------------------------------------------------

    def _call_value(self, call: ast.Call, depth: int) -> Value:
        name = self._script.name(call.func)
        if name:
            return libraries.call_result(self._script, name, call, depth)
        if isinstance(call.func, ast.Attribute):
            found = self._method_value(call, call.func, depth)
            if found.kind:
                return found
        called = self.infer(call.func, depth + 1)
        if called.kind in ("model", "criterion"):
            return Value("tensor", self.model_device)
        definition = self._script.definition(call.func)
        if isinstance(definition, ast.ClassDef):
            if self.is_module_class(definition):
                loss = definition.name.lower().endswith("loss")
                return Value("criterion" if loss else "model", self.model_device)
            return Value("other")
        return UNKNOWN

    def _method_value(self, call: ast.Call, function: ast.Attribute, depth: int) -> Value:
        owner = self.infer(function.value, depth + 1)
        name = function.attr
        if owner.kind in ("tensor", "batch"):
            return libraries.tensor_method_result(self._script, call, name, owner)
        if owner.kind == "model" and name in libraries.MODEL_METHODS:
            moved = libraries.target_device(self._script, call)
            return Value("model", "cpu") if moved == "cpu" else owner
        if owner.kind == "array":
            return Value("number") if name in ("item", "tolist") else owner
        if not owner.kind and libraries.target_device(self._script, call) == "gpu":
            return self._moved(function.value)
        return UNKNOWN

    def _moved(self, owner: ast.expr) -> Value:
        """Infers an unknown x in `x.cuda()`: a model if the script uses x as a model, otherwise a tensor.

        The result of an unknown call may be either, so it stays unknown.
        """
        if isinstance(owner, ast.Call):
            return UNKNOWN
        return Value("model" if written(owner) in self._modules else "tensor", "gpu")

    @cached_property
    def _modules(self) -> set[str]:
        """Names of modules: names that the script calls, or whose parameters() or similar it calls."""
        calls = self._script.nodes(ast.Call)
        owners = [call.func.value for call in calls if _is_module_method(call.func)]  # type: ignore[attr-defined]
        return {written(expression) for expression in [*owners, *(call.func for call in calls)]} - {
            ""
        }

    def is_module_class(self, node: ast.ClassDef, depth: int = 0) -> bool:
        """Returns whether a class derives directly or indirectly from nn.Module or LightningModule."""
        for base in node.bases:
            name = self._script.name(base)
            if name in libraries.MODULES:
                return True
            base_class = self._script.definition(base)
            if not isinstance(base_class, ast.ClassDef) or base_class is node or depth > 6:
                continue
            if self.is_module_class(base_class, depth + 1):
                return True
        return False


def _is_module_method(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr in libraries.MODULE_METHODS


def _is_direct(binding: Binding) -> bool:
    """Returns whether the target is the first name in `for i, x in ...`, not in a nested tuple."""
    statement = binding.statement
    target = getattr(statement, "target", None)
    return isinstance(target, ast.Tuple) and target.elts[0] is binding.target


def by_conventional_name(name: str, values: Values) -> Value:
    """Infers a value from a conventional name: `model`, `self.optimizer`, `train_loader`."""
    last = name.rpartition(".")[2].lower().strip("_")
    if last.partition("_")[0] in libraries.VERBS:
        return UNKNOWN
    if last in libraries.MODEL_NAMES or last.endswith(("_model", "_net")):
        return Value("model", values.model_device)
    if (
        last in libraries.OPTIMIZER_NAMES
        or last.startswith("optimizer_")
        or last.endswith("_optimizer")
    ):
        return Value("optimizer")
    if last.endswith(("loader", "loaders", "_dl")):
        return Value("loader")
    if last in libraries.CRITERION_NAMES:
        return Value("criterion")
    return UNKNOWN


def backward_losses(call: ast.Call) -> list[ast.expr]:
    """Returns the losses in `loss.backward()`, `scaler.scale(loss).backward()` and similar calls."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return []
    given = function.attr == "manual_backward" or (function.attr == "backward" and call.args)
    if given and len(call.args) > 1 and isinstance(call.args[1], ast.List):
        return call.args[1].elts  # distributed autograd: backward(context, [loss])
    if given and written(function.value) != "torch.autograd":
        return call.args[:1]
    if function.attr != "backward":
        return []
    owner = function.value
    if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
        return owner.args[:1] if owner.func.attr == "scale" else [owner]
    return [owner]


def loss_names(script: Script) -> set[tuple[ast.AST, str]]:
    """Returns (function, name) of every variable on which backward() is called."""
    return {
        (script.function(call), written(loss))
        for call in script.methods("backward", "manual_backward")
        for loss in backward_losses(call)
        if written(loss)
    }
