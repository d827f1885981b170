"""Predicts the memory of a training step before it runs.

The step runs twice on torch's fake tensors, which have shapes and types but no memory, so the batch can
have any size. `LiveMemory` counts the bytes that would be in use. Some models cannot run on fake tensors,
because they read values or call custom operations. For such a model, two small batches run on a copy of
the model, and the prediction extrapolates linearly from both.
"""

from __future__ import annotations

import copy
import gc
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeCopyMode, FakeTensorMode

from ..._c.errors import ArgumentError
from ..batch_structure import map_tensors, samples_of, tensors_of
from ..job import Job, step_and_batch
from ..preserved_state import unchanged
from ..step import Step
from .live_memory import LiveMemory

_MIB = 1 << 20
KINDS = ("parameters", "buffers", "gradients", "optimizer", "batch", "activations", "temporary")


@dataclass(frozen=True)
class MemoryPrediction:
    """The predicted memory of a training step, in bytes; `print(prediction)` shows the peak."""

    samples: int  # number of samples in the batch
    parameters: int  # bytes of the model's parameters
    buffers: int  # bytes of the model's buffers
    gradients: int  # bytes of all gradients, after the backward pass
    optimizer: int  # bytes of the optimizer's state
    batch: int  # bytes of the batch
    activations: int  # bytes of the tensors that the forward pass keeps for the backward pass
    workspace: int  # bytes of cuBLAS workspaces
    peak: int  # largest number of bytes in use at once
    phase: str  # phase in which the peak occurs: "forward", "backward" or "optimizer"
    at_peak: dict[str, int]  # bytes in use at the peak, by kind
    method: str  # "fake tensors" or "small batches"
    reason: str = ""  # why fake tensors could not be used
    # `at_peak` for each phase of the step
    phases: dict[str, dict[str, int]] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        rows = [f"{'peak':<14}{_mib(self.peak)}   in the {self.phase} of {self.samples} samples"]
        rows += [f"  {kind:<12}{_mib(size)}" for kind, size in self.at_peak.items() if size]
        return "\n".join(rows)


def predict_memory(
    job: Job | Step, batch: Any = None, *, samples: int | None = None
) -> MemoryPrediction:
    """Predicts the peak memory of one training step without running it.

    The model and the optimizer stay unchanged. The prediction is for a step without `torch.compile`,
    CUDA graph or gradient scaler. It counts cuBLAS workspaces, but no workspaces of other kernels.

    job      a Job, or a Step with the batch as second argument
    batch    example batch; default: the first batch of the Job
    samples  batch size to predict; default: the size of the example batch
    """
    step, batch = step_and_batch(job, batch)
    count = samples_of(batch)
    samples = count if samples is None else samples
    if samples < 1 or count < 1:
        raise ArgumentError(f"predict_memory: a batch of {min(samples, count)} samples")
    with unchanged(step.model):
        try:
            return _by_fake_tensors(step, batch, samples)
        except Exception as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return _by_small_batches(step, batch, samples, reason)


def measure_peak(job: Job | Step, batch: Any = None, *, steps: int = 3) -> int:
    """Trains for `steps` steps on the GPU and returns the peak number of allocated bytes.

    job    a Job, or a Step with the batch as second argument
    batch  batch to train on; default: the first batch of the Job
    """
    step, batch = step_and_batch(job, batch)
    if step.device.type != "cuda":
        raise ArgumentError(
            f"measure_peak: the model is on {step.device}\n  fix: move it to a GPU; "
            "torch counts memory only on a GPU"
        )
    torch.cuda.synchronize(step.device)
    torch.cuda.reset_peak_memory_stats(step.device)
    for _ in range(steps):
        step(batch)
    torch.cuda.synchronize(step.device)
    return int(torch.cuda.max_memory_allocated(step.device))


def count_step(step: Step, batch: Any, live: LiveMemory | None = None) -> MemoryPrediction:
    """Runs two steps and counts their memory. The first step creates the optimizer's state."""
    live = LiveMemory(step.device) if live is None else live
    live.name(step.model.parameters(), "parameters")
    live.name(step.model.buffers(), "buffers")
    live.name(tensors_of(batch), "batch")
    live.name(_state(step.optimizer), "optimizer")
    live.name((p.grad for p in step.model.parameters()), "gradients")
    kept: Counter[str] = Counter()

    def loss_of(batch: Any) -> torch.Tensor:
        live.phase = "forward"
        loss = step.loss_of(batch)
        live.rename("temporary", "activations")
        kept["activations"] = max(kept["activations"], live.by_kind["activations"])
        live.phase = "backward"
        return loss

    handles = [
        p.register_post_accumulate_grad_hook(lambda p: live.name([p.grad], "gradients"))
        for p in step.model.parameters()
        if p.requires_grad
    ]
    try:
        with live:
            for _ in range(2):
                step.optimizer.zero_grad(set_to_none=step.set_to_none)
                step.add_gradients(batch, loss_of)
                live.phase = "optimizer"
                step.update()
                live.name(_state(step.optimizer), "optimizer")
    finally:
        for handle in handles:
            handle.remove()
    return _summary(live, step.device, samples_of(batch), kept["activations"])


def _summary(
    live: LiveMemory, device: torch.device, samples: int, activations: int
) -> MemoryPrediction:
    phases = {}
    for phase, peak in live.peaks.items():
        sizes = {kind: peak.by_kind[kind] for kind in (*KINDS, "other")}
        if phase == "forward":  # it is not known yet which tensors the backward pass will need
            sizes["activations"] += sizes["temporary"]
            sizes["temporary"] = 0
        phases[phase] = sizes
    workspace = _cublas_bytes(device) * len({"forward", "backward"} & live.products)
    return _prediction(phases, live.by_kind, activations, workspace, samples)


def _prediction(
    phases: dict[str, dict[str, int]],
    totals: Any,
    activations: int,
    workspace: int,
    samples: int,
    method: str = "",
    reason: str = "",
) -> MemoryPrediction:
    phase = max(phases, key=lambda name: sum(phases[name].values()))
    at_peak = {**phases[phase], "workspace": workspace}
    return MemoryPrediction(
        samples=samples,
        parameters=totals["parameters"],
        buffers=totals["buffers"],
        gradients=totals["gradients"],
        optimizer=totals["optimizer"],
        batch=totals["batch"],
        activations=activations,
        workspace=workspace,
        peak=sum(at_peak.values()),
        phase=phase,
        at_peak=at_peak,
        method=method,
        reason=reason,
        phases=phases,
    )


def _by_fake_tensors(step: Step, batch: Any, samples: int) -> MemoryPrediction:
    if hasattr(step.optimizer, "_locked_update"):
        name = type(step.optimizer).__name__
        raise ArgumentError(f"{name} of tundish.optim needs the memory of its tensors")
    mode = FakeTensorMode(allow_fallback_kernels=False, allow_non_fake_inputs=True)
    with FakeCopyMode(mode):
        fake_step = _copied(step)
    _keep_kernels(step.optimizer, fake_step.optimizer)
    with mode:
        fake_batch = _resized(map_tensors(mode.from_tensor, batch), samples_of(batch), samples)
        counted = count_step(fake_step, fake_batch, _FakeMemory(step.device))
    return replace(counted, method="fake tensors")


def _keep_kernels(real: torch.optim.Optimizer, fake: torch.optim.Optimizer) -> None:
    """Copies torch's choice of foreach kernels to the fake optimizer.

    torch decides by the type of the parameters, and does not recognize fake parameters.
    """
    choose = getattr(sys.modules["torch.optim.optimizer"], "_default_to_fused_or_foreach", None)
    for group, copied in zip(real.param_groups, fake.param_groups):
        if choose is None or group.get("foreach", False) is not None or group.get("fused"):
            continue
        foreach = choose(group["params"], bool(group.get("differentiable")))[1]
        rate_is_read = (
            isinstance(group.get("lr"), torch.Tensor) and group.get("capturable") is False
        )
        copied["foreach"] = foreach and not rate_is_read


class _FakeMemory(LiveMemory):
    """Counts live memory of fake tensors.

    Answers an optimizer that reads its step count with 1, because a fake tensor has no value.
    """

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func.overloadpacket.__name__
        if self.phase == "optimizer" and name == "_local_scalar_dense":
            return 1.0 if args[0].is_floating_point() else 1
        if name.startswith("_fused_") and name.endswith("_"):  # in place, without a temporary
            return None
        return super().__torch_dispatch__(func, types, args, kwargs)


def _by_small_batches(step: Step, batch: Any, samples: int, reason: str) -> MemoryPrediction:
    """Predicts from two real batches: the bytes of every kind are a + b * samples."""
    small, large = 2, 4
    counted = {n: count_step(_real_copy(step), _repeated(batch, n)) for n in (small, large)}
    gc.collect()  # frees the copies, because an optimizer is in a reference cycle
    a, b = counted[small], counted[large]

    def line(low: int, high: int) -> int:
        return round(low + (high - low) * (samples - small) / (large - small))

    phases = {
        phase: {kind: line(a.phases[phase][kind], size) for kind, size in sizes.items()}
        for phase, sizes in b.phases.items()
    }
    totals = {kind: line(getattr(a, kind), getattr(b, kind)) for kind in KINDS[:5]}
    return _prediction(
        phases,
        totals,
        line(a.activations, b.activations),
        b.workspace,
        samples,
        "small batches",
        reason,
    )


def _real_copy(step: Step) -> Step:
    try:
        return _copied(step)
    except Exception as error:
        raise ArgumentError(
            f"predict_memory: the model, optimizer and loss_fn cannot be copied: {error}\n"
            "  fix: remove what cannot be copied (a lock, a file, a generator) from the model"
        ) from error


def _repeated(batch: Any, samples: int) -> Any:
    """Returns a batch of `samples` samples. Repeats samples from the start if there are too few."""
    count = samples_of(batch)

    def repeat(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() == 0 or tensor.shape[0] != count:
            return tensor
        return tensor[torch.arange(samples, device=tensor.device) % count]

    return map_tensors(repeat, batch)


def _copied(step: Step) -> Step:
    """Copies model, optimizer and loss together, so that the copies share their parameters."""
    model = getattr(step.model, "_orig_mod", step.model)  # the model that torch.compile wrapped
    new = Step(*copy.deepcopy((model, step.optimizer, step.loss_fn)))
    for name in ("autocast", "channels_last", "accumulate", "max_norm", "set_to_none"):
        setattr(new, name, getattr(step, name))
    return new


def _resized(batch: Any, count: int, samples: int) -> Any:
    def resize(tensor: torch.Tensor) -> torch.Tensor:
        if samples == count or tensor.dim() == 0 or tensor.shape[0] != count:
            return tensor
        shape = (samples, *tensor.shape[1:])
        nhwc = tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
        layout = torch.channels_last if nhwc else torch.contiguous_format
        return torch.empty(shape, dtype=tensor.dtype, device=tensor.device, memory_format=layout)

    return map_tensors(resize, batch)


def _state(optimizer: torch.optim.Optimizer) -> Iterator[Any]:
    for state in optimizer.state.values():
        yield from state.values() if isinstance(state, dict) else ()


def _cublas_bytes(device: torch.device) -> int:
    """Returns the size of one cuBLAS workspace.

    The training thread and autograd's thread each have a workspace if they multiply matrices.
    """
    if device.type != "cuda":
        return 0
    pairs = re.findall(r":(\d+):(\d+)", os.environ.get("CUBLAS_WORKSPACE_CONFIG", ""))
    if pairs:
        return sum(1024 * int(size) * int(number) for size, number in pairs)
    hopper = torch.cuda.get_device_capability(device) >= (9, 0)
    return 32 * _MIB if hopper else 8 * _MIB + 128 * 1024


def _mib(size: int) -> str:
    return f"{size / _MIB:10,.1f} MiB"
