"""channels_last: stores images and filters as (N, H, W, C), the layout that Tensor Cores use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ..batch_structure import slice_samples
from ..job import JobSource
from ..step import Step
from .trick import Grade, Trick


@dataclass(frozen=True)
class ChannelsLast(Trick):
    """Stores images and convolution weights in the channels_last layout, which Tensor Cores use."""

    name = "channels_last"
    title = "channels_last"
    grade = Grade.REASSOCIATION

    def obstacle(self, step: Step) -> str:
        if not any(isinstance(m, torch.nn.Conv2d) for m in step.model.modules()):
            return "the model has no two-dimensional convolution"
        return ""

    def apply(self, step: Step) -> None:
        strides = Strides(step)
        step.model.to(memory_format=torch.channels_last)
        match_weight_layout(step.optimizer)
        step.channels_last = True
        # Checkpoints keep the original layout. Fused kernels reject a state whose layout differs from
        # the layout of its weight.
        optimizer: Any = step.optimizer
        hooks = [
            optimizer.register_state_dict_post_hook(
                lambda _, saved: strides.with_original_layout(saved), prepend=True
            ),
            optimizer.register_load_state_dict_post_hook(match_weight_layout),
        ]
        step.kept["channels_last"] = strides, hooks
        step.reset()

    def undo(self, step: Step) -> None:
        strides, hooks = step.kept.pop("channels_last")
        for hook in hooks:
            hook.remove()
        strides.restore()
        step.channels_last = False
        step.reset()

    def code(self) -> list[str]:
        return [
            "model = model.to(memory_format=torch.channels_last)",
            "inputs = inputs.contiguous(memory_format=torch.channels_last)",
        ]


class Strides:
    """A snapshot of the layout of weights, buffers and gradients."""

    def __init__(self, step: Step) -> None:
        self._optimizer: Any = step.optimizer
        self._parameters = {p: p.stride() for p in step.model.parameters()}
        self._gradients = [(p, p.grad.stride()) for p in self._parameters if p.grad is not None]
        self._buffers = [
            (module, name, buffer.stride())
            for module in step.model.modules()
            for name, buffer in module._buffers.items()
            if buffer is not None
        ]

    def restore(self) -> None:
        """Restores the layout of weights, buffers, gradients and optimizer state."""
        for parameter, strides in self._parameters.items():
            parameter.data = with_strides(parameter.data, strides)
        for parameter, strides in self._gradients:
            if parameter.grad is not None:
                parameter.grad.data = with_strides(parameter.grad.data, strides)
        for module, name, strides in self._buffers:
            if module._buffers.get(name) is not None:
                module._buffers[name] = with_strides(module._buffers[name], strides)
        match_weight_layout(self._optimizer)

    def with_original_layout(self, saved: dict[str, Any]) -> dict[str, Any]:
        """Returns the optimizer's state in the weights' original layout."""
        keys = [key for group in saved["param_groups"] for key in group["params"]]
        parameters = [p for group in self._optimizer.param_groups for p in group["params"]]
        states = dict(saved["state"])
        for key, parameter in zip(keys, parameters):
            strides = self._parameters.get(parameter)
            if key in states and strides is not None:
                states[key] = {
                    name: with_strides(value, strides)
                    if isinstance(value, torch.Tensor) and value.shape == parameter.shape
                    else value
                    for name, value in states[key].items()
                }
        return {**saved, "state": states}


def with_strides(tensor: Any, strides: tuple[int, ...]) -> Any:
    """Returns the tensor itself if it already has these strides, otherwise a copy with these strides."""
    if tensor.stride() == strides or tensor.dim() != len(strides):
        return tensor
    return torch.empty_strided(
        tensor.shape, strides, dtype=tensor.dtype, device=tensor.device
    ).copy_(tensor)


def match_weight_layout(optimizer: torch.optim.Optimizer) -> None:
    """Converts each state tensor of the optimizer to the layout of its parameter."""
    for parameter, state in optimizer.state.items():
        for key, value in state.items():
            if isinstance(value, torch.Tensor) and value.shape == parameter.shape:
                state[key] = with_strides(value, parameter.stride())


def find_fallback_layers(source: JobSource, seed: int) -> list[str]:
    """Returns the layers whose output is not channels_last. Each of them costs a copy."""
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
