"""Detects arguments that Lightning's Trainer has removed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....script import Script
from ....script.call_arguments import argument, is_literal
from ..static_rule import Occurrence, StaticRule

# {} stands for the value in the script.
_REPLACEMENTS = {
    "gpus": 'accelerator="gpu", devices={}',
    "tpu_cores": 'accelerator="tpu", devices={}',
    "num_processes": 'accelerator="cpu", devices={}',
    "distributed_backend": "strategy={}",
    "profile": "profiler={}",
    "auto_lr_find": "Tuner(trainer).lr_find(model)",
    "auto_scale_batch_size": "Tuner(trainer).scale_batch_size(model), or tundish tune batch-size",
    "amp_level": "precision=...",
    "amp_backend": "precision=...",
    "checkpoint_callback": "enable_checkpointing={}; a callback goes to callbacks=[...]",
    "progress_bar_refresh_rate": "callbacks=[TQDMProgressBar(refresh_rate={})]",
    "weights_summary": "callbacks=[ModelSummary()]",
    "resume_from_checkpoint": "trainer.fit(..., ckpt_path={})",
}
_SPECIAL_VALUES = {
    ("gpus", 0): 'accelerator="cpu"',
    ("gpus", None): "remove it: None was the default",
    ("distributed_backend", None): "remove it: None was the default",
    ("progress_bar_refresh_rate", 0): "enable_progress_bar=False",
    ("weights_summary", None): "enable_model_summary=False",
    ("auto_lr_find", False): "remove it: False was the default",
    ("auto_scale_batch_size", False): "remove it: False was the default",
}


def find(script: Script) -> Iterator[Occurrence]:
    for call in script.calls("lightning.pytorch.Trainer"):
        for keyword in call.keywords:
            if keyword.arg in _REPLACEMENTS:
                yield Occurrence(
                    keyword,
                    f"the Trainer of Lightning 2 has no argument {keyword.arg}",
                    _remedy(script, keyword.arg, keyword.value),
                )
        if is_literal(argument(call, "strategy"), "dp"):
            yield Occurrence(
                call, 'the Trainer of Lightning 2 has no strategy "dp"', 'strategy="ddp"'
            )


def _remedy(script: Script, name: str, given: ast.expr) -> str:
    """Returns the replacement for an argument, with the value from the script filled in."""
    if isinstance(given, ast.Constant):
        for (argument_name, value), replacement in _SPECIAL_VALUES.items():
            if argument_name == name and is_literal(given, value):
                return replacement
    return _REPLACEMENTS[name].format(script.text(given, 40))


RULE = StaticRule(
    id="lightning-removed",
    title="an argument that Lightning's Trainer removed",
    level="error",
    reason="Tutorials for Lightning 1 still use these arguments; Lightning 2 raises a TypeError.",
    fix="Use the replacement.",
    before='Trainer(gpus=8, distributed_backend="ddp")',
    after='Trainer(accelerator="gpu", devices=8, strategy="ddp")',
    find=find,
)
