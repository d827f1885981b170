"""Changes of models and optimizers: statements above the optimizer, and its keyword arguments."""

from __future__ import annotations

import ast
from typing import Any

from .code_search import bindings, call_at, comprehension, deferred
from .edits import CannotEdit, Edits, insert_after, insert_before, quoted
from .keywords import set_keyword
from .model_names import assigned_name, model_expressions
from .source_file import SourceFile

Model = dict[str, Any]  # a ModelFacts of the survey, as JSON


def statements_on_models(
    source: SourceFile, optimizer: dict[str, Any], models: list[Model], codes: ModelCode
) -> Edits:
    """Returns edits that run statements on an optimizer's models before it is constructed."""
    call = call_at(source, optimizer["made"])
    if not optimizer["made"]["is_direct"]:
        raise CannotEdit("a library constructs the optimizer")
    if deferred(source, call) or comprehension(source, call):
        raise CannotEdit("the optimizer is constructed in an expression that runs elsewhere")
    statement = source.statement(call)
    names = model_expressions(source, call, models, optimizer["identity"]["elements"])
    _check_bound(statement, names)
    elements = optimizer["identity"]["elements"]
    same_size = [model for model in models if model["identity"]["parameters"] == elements]
    if len(names) == 1 and same_size:
        models = same_size
    new = [codes.code_for(name, models) for name in names if name not in codes.names]
    codes.names.update(names)
    if not new:
        return Edits()
    edits = insert_before(source, statement, new)
    edits.modules.add("torch")
    return edits


def statement_below_model(source: SourceFile, model: Model, codes: ModelCode) -> Edits:
    """Returns the edits of a model whose optimizer a library constructs."""
    call = call_at(source, model["made"])
    name = assigned_name(source, model)
    if not model["made"]["is_direct"] or not name:
        raise CannotEdit("a library constructs the model or the optimizer")
    statement = source.statement(call)
    if len(bindings(source, name, source.scope(call))) > 1 and "." not in name:
        raise CannotEdit(f"{name} is assigned several times")
    codes.names.add(name)
    edits = insert_after(source, statement, [codes.code_for(name, [model])])
    edits.modules.add("torch")
    return edits


class ModelCode:
    """The statement of a change. `names`: the models that have it."""

    def __init__(self, change: str, value: str) -> None:
        self.change, self.value = change, value
        self.names: set[str] = set()

    def code_for(self, name: str, models: list[Model]) -> str:
        if self.change == "channels_last":
            return f"{name}.to(memory_format=torch.channels_last)"
        options = f"mode={quoted(self.value)}, dynamic=False" if self.value else "dynamic=False"
        kinds = {model["torch_forward"] for model in models}
        if len(kinds) > 1:
            raise CannotEdit("some models are torch's own classes, which compile() would skip")
        if kinds != {True}:
            return f"{name}.compile({options})"
        # Module.compile() compiles no forward() of torch, such as that of nn.Sequential. The
        # attribute is the one that compile() sets; copies and state_dict() do not contain it.
        return (
            f"{name}._compiled_call_impl = torch.compile("
            f"lambda *args, _call={name}._call_impl, **kwargs: _call(*args, **kwargs), {options})"
        )


def fused_keyword(source: SourceFile, optimizer: dict[str, Any]) -> Edits:
    call = call_at(source, optimizer["made"])
    if not optimizer["made"]["is_direct"]:
        raise CannotEdit("a library constructs the optimizer")
    if optimizer["fused"]:
        raise CannotEdit(optimizer["fused"])
    if not optimizer["identity"]["name"].startswith("torch.optim."):
        raise CannotEdit(f"{optimizer['identity']['name']} may have no argument `fused`")
    if not isinstance(call.func, ast.Name | ast.Attribute):  # getattr(torch.optim, name)(...)
        raise CannotEdit("the class of the optimizer is chosen when the script runs")
    return set_keyword(source, call, "fused", "True", replaces="foreach")


def _check_bound(statement: ast.stmt, names: list[str]) -> None:
    """Raises CannotEdit if the optimizer's statement itself binds a model."""
    for node in ast.walk(statement):
        if isinstance(node, ast.NamedExpr) and node.target.id in {n.split(".")[0] for n in names}:
            raise CannotEdit("the statement of the optimizer constructs the model, too")
