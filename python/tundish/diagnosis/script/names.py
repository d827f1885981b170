"""Resolves names in the script to full names, such as `nn.Linear` to `torch.nn.Linear`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

# Other names of the same objects.
_CANONICAL = {
    "torch.nn.parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.distributed.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "torch.utils.data.dataloader.DataLoader": "torch.utils.data.DataLoader",
    "torch.utils.data.dataset.Dataset": "torch.utils.data.Dataset",
    "torch.cuda.amp.autocast_mode.autocast": "torch.cuda.amp.autocast",
    "torch.cuda.amp.grad_scaler.GradScaler": "torch.cuda.amp.GradScaler",
    "torch.autograd.variable.Variable": "torch.autograd.Variable",
    "torch.nn.modules.Module": "torch.nn.Module",
}
_PREFIXES = {
    "pytorch_lightning.": "lightning.pytorch.",
    "lightning.LightningModule": "lightning.pytorch.LightningModule",
    "lightning.Trainer": "lightning.pytorch.Trainer",
}


def canonical(name: str) -> str:
    name = _CANONICAL.get(name, name)
    for prefix, full in _PREFIXES.items():
        if name.startswith(prefix):
            return full + name[len(prefix) :]
    return name


def imported_names(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Maps each imported name to its full name. Omits relative imports."""
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    names[alias.asname] = alias.name
                else:
                    top = alias.name.partition(".")[0]
                    names[top] = top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def imported_modules(nodes: Iterable[ast.AST]) -> list[tuple[ast.stmt, str]]:
    """Returns (import statement, full name) for each imported module or name."""
    found: list[tuple[ast.stmt, str]] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [(node, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found += [(node, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def dotted(expression: ast.AST) -> tuple[ast.Name | None, list[str]]:
    """Returns the first name of `a.b.c` and the attributes after it.

    The name is None for other expressions.
    """
    parts: list[str] = []
    while isinstance(expression, ast.Attribute):
        parts.append(expression.attr)
        expression = expression.value
    parts.reverse()
    return (expression, parts) if isinstance(expression, ast.Name) else (None, parts)


def written(expression: ast.AST) -> str:
    """Returns the source of a name or dotted attribute such as `self.model.head`, otherwise ""."""
    base, parts = dotted(expression)
    return ".".join([base.id, *parts]) if base is not None else ""
