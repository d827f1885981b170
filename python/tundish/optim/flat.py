"""tundish.optim.flatten: puts all parameters of a dtype into one buffer, and their gradients into another.

Gradients reach the buffer in one of two ways. If p.grad is None, autograd stores the tensor made by the backward
operation. After the backward pass, one multi-tensor copy gathers these tensors in the buffer, and p.grad becomes
a view of the buffer. If p.grad already is such a view (after zero_grad(set_to_none=False), or in the second
micro-batch), autograd adds in place and nothing is gathered. Gathering moves 8 bytes per float32 element and
needs a few launches; zeroing and adding in place moves 16 bytes and needs one launch per tensor.
"""

from __future__ import annotations

import functools
import gc
import warnings
import weakref
from collections.abc import Callable, Iterable
from operator import is_
from typing import Any, NoReturn, TypeVar

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from .._c.errors import ArgumentError
from ._flat.flat_buffer import FlatBuffer, Segment, build
from ._flat.flat_checks import GRADIENT, BufferCheck, refuse_norms
from ._flat.flat_choice import Choice, choose

_Optimizer = TypeVar("_Optimizer", bound=torch.optim.Optimizer)

# Hooks detect the end of a backward pass. A single hook that fires is enough, and each hook costs about
# 1 us of host time per pass. Therefore only every 16th parameter has a hook.
_HOOK_EVERY = 16

# Keys: id() of a model's parameter, and id() of a flat parameter. The value keeps both parameters alive.
_OWNERS: weakref.WeakValueDictionary[int, FlatParameters] = weakref.WeakValueDictionary()
_FLAT: weakref.WeakValueDictionary[int, FlatParameters] = weakref.WeakValueDictionary()
_SEEN: weakref.WeakSet[torch.optim.Optimizer] = weakref.WeakSet()

_queue_callback: Any = torch.autograd.Variable._execution_engine.queue_callback


def flatten(model: torch.nn.Module, groups: Iterable[Any] | None = None) -> FlatParameters:
    """Moves the trainable parameters of a model into one buffer per dtype and device, for faster optimizer steps.

    The model keeps its Parameter objects, names, shapes and strides. `groups` has the form of the first argument of
    torch's optimizers: parameters, or dictionaries with "params" and options. By default, all trainable parameters
    form one group. Frozen parameters, and parameters in no group, are not moved.
    """
    choice = choose(model, groups)
    moved = [pair for chosen in choice.groups for pair in chosen]
    if any(id(parameter) in _OWNERS for _, parameter in moved):
        gc.collect()  # FlatParameters and their flat parameters refer to each other
    for name, parameter in moved:
        if id(parameter) in _OWNERS:
            raise ArgumentError(
                f"parameter {name!r} is already in a flat buffer\n  fix: call unflatten() on its FlatParameters first"
            )
    _watch_new_optimizers()
    with torch.no_grad():
        return FlatParameters(model, choice)


@functools.cache
def _watch_new_optimizers() -> None:
    """Calls watch() in the first step of every optimizer that has flat parameters, if it was not called before."""

    def before_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if optimizer in _SEEN:
            return
        _SEEN.add(optimizer)
        held = [id(p) for group in optimizer.param_groups for p in group["params"]]
        for flat in {_FLAT[key] for key in held if key in _FLAT}:
            flat.watch(optimizer)

    register_optimizer_step_pre_hook(before_step)


class FlatParameters:
    """The flat parameters of a model, made by flatten(): one long parameter per dtype, device and group.

    Give them to any optimizer that treats every element alike. Optimizers that use the norm of each tensor, such
    as LARS and LAMB, need model.parameters() instead. The gradients of these parameters are in the buffers too.
    """

    def __init__(self, model: torch.nn.Module, choice: Choice) -> None:
        self.model = model
        self.buffers: list[FlatBuffer]
        self._choice = choice
        self.buffers, self._segments = build(choice)
        self._check = BufferCheck(model, choice, self._segments)
        self._verified = (
            False  # whether the check at the end of the last backward pass found no problem
        )
        self._watched: weakref.WeakSet[torch.optim.Optimizer] = weakref.WeakSet()
        self._task = -1  # id of the autograd task whose end is awaited
        self._released = False
        _OWNERS.update({id(parameter): self for parameter in self._check.flat})
        _FLAT.update({id(segment.flat): self for segment in self._segments})
        self._hooks = self._add_hooks()
        self.gather()

    def parameters(self, dtype: torch.dtype | None = None) -> list[torch.nn.Parameter]:
        """Returns the flat parameters, optionally of one dtype only, for example for clip_grad_norm_."""
        self._gather_missed()
        flat = [self._kept_alive(segment) for segment in self._segments]
        return [parameter for parameter in flat if dtype is None or parameter.dtype == dtype]

    def groups(self) -> list[dict[str, Any]]:
        """Returns the parameter groups given to flatten(), with flat parameters, for the constructor of an optimizer."""
        return [
            {**options, "params": [self._kept_alive(s) for s in self._segments if s.group == place]}
            for place, options in enumerate(self._choice.options)
        ]

    def optimizer(self, kind: Callable[..., _Optimizer], **options: Any) -> _Optimizer:
        """Creates an optimizer for flat.groups() and calls watch(): flat.optimizer(torch.optim.AdamW, lr=1e-3)."""
        refuse_norms(getattr(kind, "__name__", ""), kind)
        return self.watch(kind(self.groups(), **options))

    def watch(self, optimizer: _Optimizer) -> _Optimizer:
        """Makes zero_grad() of an optimizer clear the model's gradients, and step() check the parameters first.

        flat.optimizer() calls this method. Otherwise the first step of an optimizer with flat parameters calls it.
        """
        if optimizer in self._watched:
            return optimizer
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for name, parameter in self._named():
            if id(parameter) in held:
                raise ArgumentError(
                    f"the optimizer has the parameter {name!r} itself instead of the flat parameter\n"
                    "  fix: create it with flat.groups(); an optimizer over model.parameters() needs no watch()"
                )
        own = [segment for segment in self._segments if id(segment.flat) in held]
        if not own:
            raise ArgumentError(
                "the optimizer has none of the flat parameters\n  fix: create it with flat.groups()"
            )
        refuse_norms(type(optimizer).__name__, optimizer)
        clear_all = optimizer.zero_grad
        has_others = len(held) > len(own)

        @functools.wraps(clear_all)
        def zero_grad(set_to_none: bool = True) -> None:
            if has_others:
                clear_all(set_to_none)
            self._clear(own, set_to_none)

        optimizer.zero_grad = zero_grad

        def before_step(_: Any, args: Any, keywords: Any) -> Any:
            self._before_step(own)
            return self._with_checked_closure(own, args, keywords)

        optimizer.register_step_pre_hook(before_step)
        optimizer.register_load_state_dict_post_hook(functools.partial(_check_state, own))
        self._watched.add(optimizer)
        _SEEN.add(optimizer)
        return optimizer

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Fills all gradients with zeros, with one memset per buffer. With set_to_none=True, p.grad becomes None."""
        self._clear(self._segments, set_to_none)

    def gradient_norm(self) -> torch.Tensor:
        """Returns the 2-norm of all gradients as a tensor on the first buffer's device, without synchronizing."""
        self._gather_missed()
        parts = [segment.flat.grad for segment in self._segments if segment.flat.grad is not None]
        device = self.buffers[0].device
        norms = [_norm(part).to(device) for part in parts]
        if not norms:
            return torch.zeros((), device=device)
        return torch.linalg.vector_norm(torch.stack(norms))

    def check(self) -> None:
        """Raises ArgumentError if a parameter is no longer in the buffers."""
        self._refuse_released()
        self._check.explain(self._segments)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def gather(self) -> None:
        """Copies gradients into the buffers if they are elsewhere. Called automatically after a backward pass."""
        self._refuse_released()
        self._verified = self._check.is_unchanged()
        if not self._verified:  # before gradients are copied to parameters of another type
            self._check.explain(self._segments, may_be_frozen=True)
        for segment in self._segments:
            _gather(segment)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def unflatten(self) -> None:
        """Moves every parameter and gradient back to separate memory. The flat parameters become unusable."""
        if self._released:
            return
        for segment in self._segments:
            for parameter, weight in zip(segment.parameters, segment.weights, strict=True):
                if parameter.data_ptr() == weight.data_ptr():
                    parameter.data = weight.clone(memory_format=torch.preserve_format)
                if parameter.grad is not None:
                    parameter.grad = parameter.grad.clone(memory_format=torch.preserve_format)
        for parameter in self._check.flat:
            _OWNERS.pop(id(parameter), None)
        for hook in self._hooks:
            hook.remove()
        self._released = True

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise ArgumentError(
            "FlatParameters cannot be copied\n  fix: copy the model and flatten the copy"
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise ArgumentError(
            "FlatParameters cannot be pickled\n  fix: save the model and flatten it after loading"
        )

    def _kept_alive(self, segment: Segment) -> torch.nn.Parameter:
        """Returns the flat parameter with a reference to this object, so that an optimizer keeps both alive."""
        segment.flat._tundish_owner = self
        return segment.flat

    # --- called by a training step ------------------------------------------------------------

    def _named(self) -> Iterable[tuple[str, torch.nn.Parameter]]:
        for segment in self._segments:
            yield from zip(segment.names, segment.parameters, strict=True)

    def _refuse_released(self) -> None:
        if self._released:
            raise ArgumentError(
                "the model was unflattened\n  fix: call flatten() again and create a new optimizer"
            )

    def _add_hooks(self, every: int = _HOOK_EVERY) -> list[Any]:
        """Registers hooks that refer to this object weakly, so that the model does not keep it alive."""
        weak = weakref.ref(self)

        def on_gradient(_: torch.Tensor) -> None:
            flat = weak()
            if flat is not None:
                flat._await_end()

        chosen = {
            id(parameter): parameter
            for segment in self._segments
            for parameter in (*segment.parameters[::every], segment.parameters[-1])
        }
        return [p.register_post_accumulate_grad_hook(on_gradient) for p in chosen.values()]

    def _await_end(self) -> None:
        task = torch._C._current_graph_task_id()
        if task not in (self._task, -1):
            self._task = task
            # A callback queued by a callback runs after the callback in which DistributedDataParallel writes the
            # reduced gradients.
            _queue_callback(lambda: _queue_callback(self._after_backward))

    def _after_backward(self) -> None:
        if not self._released:
            self.gather()

    def _gather_missed(self) -> None:
        """Gathers the gradients of a backward pass that reached no parameter with a hook."""
        if not self._released and any(map(_is_missed, self._segments)):
            self.gather()

    def _report_missed(self) -> None:
        """Warns that the gradients of this step were not clipped, and adds a hook to every parameter."""
        warnings.warn(
            "the backward pass reached only parameters without a hook, so that the flat gradients did not exist"
            " before optimizer.step(): clipping a kept list of flat parameters had no effect in this step. Later"
            " steps are right",
            stacklevel=2,
        )
        for hook in self._hooks:
            hook.remove()
        self._hooks = self._add_hooks(every=1)

    def _before_step(self, own: list[Segment]) -> None:
        self._refuse_released()
        was_verified, self._verified = self._verified, False
        if was_verified and all(map(_is_ready, own)):
            return
        if not self._check.is_unchanged():
            self._check.explain(own)
        is_missed = any(map(_is_missed, own))
        with torch.no_grad():
            for segment in own:
                _refuse_late(segment)
                _gather(segment)
        if is_missed:
            self._report_missed()

    def _with_checked_closure(self, own: list[Segment], args: Any, keywords: Any) -> Any:
        """Returns the arguments of step(), with a closure that gathers the gradients at its end."""
        closure = args[1] if len(args) > 1 else keywords.get("closure")
        if closure is None:
            return None

        def checked_closure() -> Any:
            loss = closure()
            self._before_step(own)
            return loss

        others = {name: value for name, value in keywords.items() if name != "closure"}
        return (args[0], checked_closure, *args[2:]), others

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def _clear(self, segments: list[Segment], set_to_none: bool) -> None:
        self._refuse_released()
        for segment in segments:
            segment.flat.grad = None if set_to_none else segment.gradient
            if set_to_none:
                for parameter in segment.parameters:
                    parameter.grad = None
            elif not segment.is_attached():
                if not self._check.is_unchanged():
                    self._check.explain(segments, may_be_frozen=True)
                _attach(segment)
        if not set_to_none:
            for part in self.buffers if len(segments) == len(self._segments) else segments:
                part.gradient.zero_()


def _norm(tensor: torch.Tensor) -> torch.Tensor:
    is_16_bit = tensor.dtype in (torch.float16, torch.bfloat16)  # squares of float16 overflow
    return torch.linalg.vector_norm(tensor, dtype=torch.float32 if is_16_bit else None)


def _is_ready(segment: Segment) -> bool:
    """Returns whether flat.grad holds all gradients."""
    return segment.flat.grad is not None and segment.is_attached()


def _attach(segment: Segment) -> None:
    for parameter, view in zip(segment.parameters, segment.views, strict=True):
        parameter.grad = view


def _gather(segment: Segment) -> None:
    """Gathers all gradients in the buffer. If no parameter has a gradient, flat.grad becomes None."""
    if _is_ready(segment):
        return
    gradients = list(map(GRADIENT, segment.parameters))
    if segment.flat.grad is None and any(map(is_, gradients, segment.views)):
        raise ArgumentError(
            f"the gradient of the flat parameter that begins with {segment.names[0]!r} was set to None,"
            " but the gradients of the model's parameters were not: they hold the sum of the last step\n"
            "  fix: create the optimizer with flat.optimizer(), or call flat.watch(optimizer) after creating it"
        )
    if all(gradient is None for gradient in gradients):
        segment.flat.grad = None  # optimizers skip a parameter without a gradient
        return
    pairs = list(zip(segment.views, gradients, strict=True))
    missing = [view for view, gradient in pairs if gradient is None]
    moved = [
        (view, gradient)
        for view, gradient in pairs
        if gradient is not None and gradient is not view
    ]
    if missing:
        torch._foreach_zero_(missing)
    if moved:
        views, found = zip(*moved, strict=True)
        torch._foreach_copy_(
            views,
            [gradient.to_dense() if gradient.is_sparse else gradient for gradient in found],
        )
    _attach(segment)
    segment.flat.grad = segment.gradient


def _is_missed(segment: Segment) -> bool:
    """Returns whether parameters have gradients but the flat parameter has none."""
    return segment.flat.grad is None and any(p.grad is not None for p in segment.parameters)


def _refuse_late(segment: Segment) -> None:
    """Refuses late gradients: gathering them would undo what a GradScaler or clipping did to the flat gradient."""
    if segment.flat.grad is None or segment.is_attached():
        return
    for name, parameter, view in zip(segment.names, segment.parameters, segment.views, strict=True):
        if parameter.grad is not None and parameter.grad is not view:
            raise ArgumentError(
                f"the gradient of parameter {name!r} is not in the flat buffer: it was replaced after the backward"
                " pass, or the backward pass reached only a few parameters after model.zero_grad()\n"
                "  fix: use the optimizer's zero_grad(), or call flat.gather() after the backward pass"
            )


def _check_state(own: list[Segment], optimizer: torch.optim.Optimizer) -> None:
    for segment in own:
        for key, value in optimizer.state.get(segment.flat, {}).items():
            if isinstance(value, torch.Tensor) and value.numel() not in (1, segment.flat.numel()):
                raise ArgumentError(
                    f"the optimizer's state {key!r} has {value.numel()} elements, the flat parameter that begins with"
                    f" {segment.names[0]!r} has {segment.flat.numel()}: it was saved for other tensors or groups"
                )
