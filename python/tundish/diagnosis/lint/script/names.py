"""Names as the script writes them, resolved to full names: `nn.Linear` to `torch.nn.Linear`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

# One thing, several places in its package.
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
    """What each imported name stands for. Imports of the package's own modules stay unknown."""
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.asname:
                    names[one.asname] = one.name
                else:
                    top = one.name.partition(".")[0]
                    names[top] = top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for one in node.names:
                names[one.asname or one.name] = f"{node.module}.{one.name}"
    return names


def imported_modules(nodes: Iterable[ast.AST]) -> list[tuple[ast.stmt, str]]:
    """Every import statement with each module or name that it asks for, in full."""
    found: list[tuple[ast.stmt, str]] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [(node, one.name) for one in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found += [(node, f"{node.module}.{one.name}") for one in node.names]
    return found


def dotted(expression: ast.AST) -> tuple[ast.Name | None, list[str]]:
    """The name that `a.b.c` begins with, and the attributes after it; None for other expressions."""
    parts: list[str] = []
    while isinstance(expression, ast.Attribute):
        parts.append(expression.attr)
        expression = expression.value
    parts.reverse()
    return (expression, parts) if isinstance(expression, ast.Name) else (None, parts)


def written(expression: ast.AST) -> str:
    """`self.model.head` as it stands there; empty for anything but names and attributes."""
    base, parts = dotted(expression)
    return ".".join([base.id, *parts]) if base is not None else ""
