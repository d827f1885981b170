"""channels_last: images and filters as (N, H, W, C) in memory, as tensor cores want them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ..batches import slice_samples
from ..job import JobSource
from ..step import Step
from .base import Grade, Trick


@dataclass(frozen=True)
class ChannelsLast(Trick):
    name = "channels_last"
    title = "channels_last"
    grade = Grade.REASSOCIATION

    def obstacle(self, step: Step) -> str:
        if not any(isinstance(m, torch.nn.Conv2d) for m in step.model.modules()):
            return "the model has no two-dimensional convolution"
        return ""

    def apply(self, step: Step) -> None:
        set_layout(step, torch.channels_last)
        step.channels_last = True
        # Checkpoints stay ordinary: fused kernels refuse a state that is laid out unlike its weights.
        optimizer: Any = step.optimizer
        step.kept["channels_last"] = [
            optimizer.register_state_dict_post_hook(as_ordinary),
            optimizer.register_load_state_dict_post_hook(as_weights),
        ]
        step.reset()

    def undo(self, step: Step) -> None:
        for hook in step.kept.pop("channels_last"):
            hook.remove()
        set_layout(step, torch.contiguous_format)
        step.channels_last = False
        step.reset()

    def code(self) -> list[str]:
        return [
            "model = model.to(memory_format=torch.channels_last)",
            "inputs = inputs.contiguous(memory_format=torch.channels_last)",
        ]


def set_layout(step: Step, layout: Any) -> None:
    """Of the parameters and of the optimiser's state, so that its kernels see one layout."""
    step.model.to(memory_format=layout)
    as_weights(step.optimizer)


def as_weights(optimizer: torch.optim.Optimizer) -> None:
    """The optimiser's state, laid out as its parameters are."""
    for parameter, state in optimizer.state.items():
        for key, value in state.items():
            if isinstance(value, torch.Tensor) and value.shape == parameter.shape:
                state[key] = torch.empty_like(parameter, dtype=value.dtype).copy_(value)


def as_ordinary(optimizer: torch.optim.Optimizer, saved: dict[str, Any]) -> dict[str, Any]:
    """The state as an optimiser of a contiguous model has it."""
    state = {
        key: {k: v.contiguous() if isinstance(v, torch.Tensor) else v for k, v in values.items()}
        for key, values in saved["state"].items()
    }
    return {**saved, "state": state}


def find_fallback_layers(source: JobSource, seed: int) -> list[str]:
    """Layers whose output is not channels_last though the model and the batch are: each costs a copy."""
    job = source.make(seed)
    step = Step(job.model, job.optimizer, job.loss_fn)
    ChannelsLast().apply(step)
    found: list[str] = []

    def watch(name: str, kind: str) -> Any:
        def look(module: Any, inputs: Any, output: Any) -> None:
            image = isinstance(output, torch.Tensor) and output.dim() == 4
            if image and not output.is_contiguous(memory_format=torch.channels_last):
                found.append(f"{name} ({kind})")

        return look

    for name, module in job.model.named_modules():
        if not any(True for _ in module.children()):
            module.register_forward_hook(watch(name, type(module).__name__))
    with torch.no_grad():
        step.loss_of(step.as_channels_last(slice_samples(job.batches[0], 0, 2)))
    return list(dict.fromkeys(found))
