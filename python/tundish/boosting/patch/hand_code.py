"""The code to add by hand, with the names of the user's file where they are known."""

from __future__ import annotations

import ast
from typing import Any

from .code_search import call_at, is_path, last_name
from .edits import CannotEdit, quoted
from .model_names import models_of_optimizer
from .precision_patch import autocast_code
from .project import Project
from .source_file import SourceFile

_TRANSFORMERS = {
    "bf16": "bf16=True",
    "compile": "torch_compile=True",
    "fused": 'optim="adamw_torch_fused"',
    "tf32": "tf32=True",
}


def hand_code(
    project: Project, name: str, value: str, site: dict[str, Any], survey: dict[str, Any]
) -> str:
    """Returns the code of a change at a site."""
    is_library = site["line"] and not site["is_direct"]
    if is_library and name in _TRANSFORMERS and survey["framework"] == "transformers":
        return f"{_TRANSFORMERS[name]}  # argument of TrainingArguments"
    source, call = _found(project, site)
    pack = f", pack={quoted(value)}" if name == "accelerate" and value else ""
    if name == "accelerate":
        loader = _one_line(source, call) if last_name_of(call) == "DataLoader" else "loader"
        return f"import tundish\nloader = tundish.accelerate({loader}{pack})"
    if name == "workers":
        return f"num_workers={value}  # argument of the training's DataLoader"
    if name == "pin_memory":
        return "pin_memory=True  # argument of the training's DataLoader"
    if name == "fused":
        return "fused=True  # argument of the optimizer"
    if name == "tf32":
        return (
            "torch.backends.cuda.matmul.allow_tf32 = True\ntorch.backends.cudnn.allow_tf32 = True"
        )
    if name == "cudnn_benchmark":
        return "torch.backends.cudnn.benchmark = True"
    if name == "bf16":
        code = _one_line(source, call) if site.get("is_direct") else "model(inputs)"
        return f"with {autocast_code(survey['device'])}:\n    outputs = {code}\noutputs = outputs.float()"
    model = _model_name(source, call)
    if name == "channels_last":
        return f"{model}.to(memory_format=torch.channels_last)"
    mode = f"mode={quoted(value)}, " if value else ""
    return f"{model}.compile({mode}dynamic=False)"


def _found(project: Project, site: dict[str, Any]) -> tuple[SourceFile | None, ast.Call | None]:
    try:
        source = project.draft(site["file"] or project.script).source
        return source, call_at(source, site)
    except CannotEdit:
        return None, None


def _one_line(source: SourceFile | None, call: ast.Call | None) -> str:
    if source is None or call is None:
        return "..."
    code = ast.unparse(call)
    return code if len(code) <= 80 and "\n" not in code else f"{ast.unparse(call.func)}(...)"


def _model_name(source: SourceFile | None, call: ast.Call | None) -> str:
    found = [] if source is None or call is None else models_of_optimizer(source, call)
    return ast.unparse(found[0]) if found and is_path(found[0]) else "model"


def last_name_of(call: ast.Call | None) -> str:
    return "" if call is None else last_name(call.func)
