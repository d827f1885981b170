"""Arguments that Lightning's Trainer no longer takes."""

from __future__ import annotations

from collections.abc import Iterator

from ...script import Script
from ...script.arguments import argument, is_literal
from ..check import Check, Found

_GONE = {
    "gpus": 'accelerator="gpu", devices=N',
    "tpu_cores": 'accelerator="tpu", devices=N',
    "num_processes": 'accelerator="cpu", devices=N',
    "distributed_backend": 'strategy="ddp"',
    "profile": 'profiler="simple"',
    "auto_lr_find": "Tuner(trainer).lr_find(model)",
    "auto_scale_batch_size": "Tuner(trainer).scale_batch_size(model), or tundish tune --batch-size",
    "amp_level": "precision=...",
    "amp_backend": "precision=...",
    "checkpoint_callback": "enable_checkpointing=...",
    "progress_bar_refresh_rate": "TQDMProgressBar(refresh_rate=N)",
    "weights_summary": "ModelSummary()",
    "resume_from_checkpoint": "trainer.fit(..., ckpt_path=...)",
}


def find(script: Script) -> Iterator[Found]:
    for call in script.calls("lightning.pytorch.Trainer"):
        for keyword in call.keywords:
            if keyword.arg in _GONE:
                yield Found(
                    keyword,
                    f"the Trainer of Lightning 2 has no argument {keyword.arg}",
                    _GONE[keyword.arg],
                )
        if is_literal(argument(call, "strategy"), "dp"):
            yield Found(call, 'the Trainer of Lightning 2 has no strategy "dp"', 'strategy="ddp"')


CHECK = Check(
    id="lightning-removed",
    title="an argument that Lightning's Trainer lost",
    level="error",
    why="Tutorials of Lightning 1 still show these; Lightning 2 stops with a TypeError.",
    remedy="The argument that took its place.",
    before='Trainer(gpus=8, distributed_backend="ddp")',
    after='Trainer(accelerator="gpu", devices=8, strategy="ddp")',
    find=find,
)
