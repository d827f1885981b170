"""The base class of the engine's optimizers: torch's interface around one call per step."""

from __future__ import annotations

from itertools import chain, compress
from operator import attrgetter, itemgetter
from threading import Lock
from typing import Any

import torch

from ..._c.errors import ArgumentError
from ..._c.structs import OptimizerGroup
from .averaged_weights import AveragedWeights
from .engine_calls import DIFFERENT, MOVED, NativeOptimizer, is_on_gpu, rate_address, rate_of
from .foreign_states import add_group_steps, read_group_states
from .process_group import refuse_norm_of_part, rounding_seed
from .saved_state import checked_load, removed_after
from .step_hooks import Stepping
from .step_options import WithOptions, check_group, read_options
from .tensor_checks import check_whole, fp32_number, name_of, refuse_duplicates
from .tensor_table import (
    BoundStates,
    Bucket,
    FreshState,
    Table,
    check_rows,
    copy_reordered,
    extra_states,
    fp32_like,
    layout_of,
    refresh_masters,
    rows_of,
    shape_of,
    tensor_of,
)

# Functions written in C for use with map(), so that no Python code runs per tensor.
_gradient = attrgetter("grad")
_PARAMETERS = itemgetter("params")
_address = torch.Tensor.data_ptr
# Returns the stream as a number; torch.cuda.current_stream() takes ten times as long.
_stream_of = getattr(torch._C, "_cuda_getCurrentRawStream", lambda device: 0)


def _addresses(gradients: list[Any]) -> list[int]:
    try:
        return list(map(_address, gradients))
    except TypeError:  # a gradient is None
        return [0 if gradient is None else gradient.data_ptr() for gradient in gradients]


class EngineOptimizer(WithOptions, AveragedWeights, Stepping):
    """Base class of the optimizers. It accepts the keyword arguments in `Options`.

    With ema_decay, state[p]["ema"] is the average of a parameter's weights.
    """

    _step_supports_amp_scaling = True  # step() itself divides by the scale of a GradScaler
    _kind = ""
    _counts_steps = True  # whether it has state["step"]
    _uses_tensor_norms = False  # whether it refuses flat parameters, which hide the tensors' norms
    _checks_for_inf = False  # whether the step sets found_inf (tundish.optim.GradScaler)

    _engine: NativeOptimizer | None
    _table: Table | None  # bound tensors; None: the next step binds them again
    _device: Any
    _norm: Any  # gradient norm of the last step, written by the engine

    def __init__(self, params: Any, defaults: dict[str, Any], more: dict[str, Any]) -> None:
        self._options = read_options(type(self).__name__, more)
        refuse_norm_of_part(type(self).__name__, self._options.max_norm)
        self._seed = torch.initial_seed() % (1 << 64)
        self._reset_binding()
        super().__init__(params, defaults)

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        """Returns the names of states with one number per element, at most two."""
        raise NotImplementedError

    def _fill(self, out: OptimizerGroup, group: dict[str, Any]) -> None:
        """Writes the hyperparameters of this step, except the learning rate."""
        raise NotImplementedError

    def _saved_names(self, group: dict[str, Any]) -> set[str]:
        """Returns the names in a saved state, except the step and the states that `Options` add."""
        return set(self._state_names(group))

    def _tensor_state(self, parameter: Any, state: dict[str, Any]) -> Any:
        """Returns the state that has one number per tensor, or None if the optimizer has no such state."""
        return None

    def _corrected_decay(self, group: dict[str, Any]) -> float:
        """Returns timm's corrected_weight_decay, which shrinks with the square of the learning rate."""
        decay = float(group["weight_decay"])
        first = float(self.defaults["lr"])
        if not group["corrected_weight_decay"]:
            return decay
        if is_on_gpu(group["lr"]):
            raise ArgumentError(
                f"{type(self).__name__}: corrected_weight_decay needs a learning rate on the host\n"
                "  fix: pass lr as a number, or corrected_weight_decay=False"
            )
        return decay * float(group["lr"]) / first

    # --- torch's interface --------------------------------------------------------------------

    @property
    def grad_norm(self) -> Any:
        """Norm of all gradients in the last step, before clipping, as a new tensor.

        None without max_norm, and before the first step.
        """
        return None if self._norm is None else self._norm.clone()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if isinstance(param_group, dict):  # torch refuses other types
            check_group(type(self).__name__, param_group)
        super().add_param_group(param_group)
        try:
            refuse_duplicates(type(self).__name__, self.param_groups, len(self.param_groups) - 1)
        except ArgumentError:
            self.param_groups.pop()
            raise
        self._table = None

    def state_dict(self) -> dict[str, Any]:
        """Returns a state_dict that torch can load. Parameter groups also have step counts, for timm and Apex."""
        self._drop_fresh()
        first = self.register_state_dict_post_hook(type(self)._complete, prepend=True)
        with removed_after(first):
            out: dict[str, Any] = super().state_dict()
        return out

    def _drop_fresh(self) -> None:
        """Removes states that were created for a first step if a GradScaler skipped that step."""
        if self._table is not None and self._table.drop_fresh():
            self._table = None

    def _complete(self, saved: dict[str, Any]) -> None:
        """Completes a saved state before the user's hooks see it. Hooks may change it."""
        for key, state in saved["state"].items():
            if isinstance(state, dict) and isinstance(state.get("step"), torch.Tensor):
                saved["state"][key] = {**state, "step": state["step"].clone()}
        if self._counts_steps:
            add_group_steps(saved)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state_dict of this optimizer, or of the optimizer with the same name in torch, timm or Apex."""
        prepare = read_group_states if self._counts_steps else None
        with checked_load(self, state_dict, prepare):
            super().load_state_dict(state_dict)
        self._table = None

    def __getstate__(self) -> dict[str, Any]:
        self._drop_fresh()
        return {**super().__getstate__(), "_options": self._options, "_seed": self._seed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)
        self._reset_binding()

    # --- the step -----------------------------------------------------------------------------

    def _reset_binding(self) -> None:
        self._engine = self._table = None
        self._calls = 0
        self._device = self._norm = None
        self._averaging = self.__dict__.get("_averaging", [])  # a load may be inside averaged()
        self._lock = Lock()  # the engine runs one step at a time

    @torch._disable_dynamo  # type: ignore[untyped-decorator]  # compiled functions call it uncompiled
    def _locked_update(self) -> None:
        if self._averaging:
            self._reject_step()
        with self._lock:
            self._update()

    def _update(self) -> None:
        groups = self.param_groups
        if len(groups) == 1:
            parameters = groups[0]["params"]
        else:
            parameters = [*chain.from_iterable(map(_PARAMETERS, groups))]
        table, copies, is_kept = self._current_table(parameters)
        engine = self._engine
        if table is None or engine is None:
            return  # no parameter has a gradient
        if table.masters:
            refresh_masters(table)
        for out, bucket in zip(engine.groups, table.buckets):
            out.lr = rate_of(bucket.group)
            self._fill(out, bucket.group)
            if table.on_gpu:  # the GPU counts steps, because only it knows whether one is skipped
                out.lr_at = rate_address(bucket.group)
                out.step_at = bucket.count.data_ptr() if bucket.active else None
            out.step = bucket.step + 1
        if not self._call(engine):
            self._drop_fresh()
        else:
            if not table.on_gpu:
                table.fresh = []
            for bucket in () if table.on_gpu else table.buckets:
                if bucket.active:
                    bucket.step += 1
                    if bucket.count is not None:
                        bucket.count += 1
            if is_kept:
                engine.bump_versions()
            else:
                torch.autograd.graph.increment_version([*compress(parameters, table.present)])
            table.versions = [parameter._version for parameter, _ in table.masters]
        if self._options.clear_gradients:
            for gradient in copies:
                gradient.detach().zero_()

    def _call(self, engine: NativeOptimizer) -> bool:
        """Runs the step. Returns False if a GradScaler skips it because gradients are not finite."""
        options = self._options
        if self._device.type == "cuda":
            engine.options.stream = _stream_of(self._device.index)
        engine.options.check_finite = self._checks_for_inf
        engine.options.max_norm = options.max_norm
        engine.options.ema_decay = options.ema_decay
        engine.options.clear_gradients = options.clear_gradients
        engine.options.stochastic_rounding = options.stochastic_rounding
        self._calls += 1  # gives each step its own random numbers, even if no steps are counted
        engine.options.seed = rounding_seed(self._seed, self._calls)
        scale, found_inf = (
            None if value is None else value.to(self._device, torch.float32)
            for value in (getattr(self, "grad_scale", None), getattr(self, "found_inf", None))
        )
        if options.max_norm > 0 and self._norm is None:
            self._norm = fp32_number(0.0, self._device)
        return engine.step(scale, found_inf, self._norm)

    def _current_table(self, parameters: list[Any]) -> tuple[Table | None, list[Any], bool]:
        """Returns the table for this step, the gradients that had to be copied, and whether the old table was kept.

        Binds the tensors again if a group, a state or a parameter changed, or if a gradient appeared or vanished.
        """
        table, engine = self._table, self._engine
        has_states = table is not None and table.has_states(
            self.param_groups, self.state, self._state_names
        )
        if has_states and table is not None and engine is not None:
            found = engine.find_gradients(parameters)
            if found == MOVED:
                table.gradients = []  # only the engine knows the new addresses
            if found != DIFFERENT:
                return table, [], True
        gradients = list(map(_gradient, parameters))
        with torch.no_grad():
            try:
                addresses = _addresses(gradients)
                if not (has_states and table is not None and table.fits(parameters, gradients)):
                    table = self._bind() if any(g is not None for g in gradients) else None
                    self._table = table
                copies = copy_reordered(parameters, gradients, addresses, table)
            except (RuntimeError, NotImplementedError, TypeError):
                check_rows(self.param_groups)  # if a parameter is the cause, the error names it
                raise
        if table is not None and self._engine is not None and addresses != table.gradients:
            self._engine.set_gradients(addresses)
            table.gradients = addresses
        return table, copies, False

    # --- binding ------------------------------------------------------------------------------

    def _bind(self) -> Table:
        check_rows(self.param_groups)
        self._check_whole()
        rows = list(rows_of(self.param_groups))
        self._refuse_capture(rows[0][2])
        self._drop_fresh()
        self._start_engine(rows[0][2].device)
        table = Table(
            groups=shape_of(self.param_groups),
            parameters=[p for _, _, p in rows],
            layouts=[layout_of(p) for _, _, p in rows],
            gradients=[0 if p.grad is None else p.grad.data_ptr() for _, _, p in rows],
            present=[p.grad is not None for _, _, p in rows],
            dtypes=[None if p.grad is None else p.grad.dtype for _, _, p in rows],
            complete=all(p.grad is not None for _, _, p in rows),
            contiguous=all(p.is_contiguous() for _, _, p in rows),
            on_gpu=self._device.type == "cuda",
        )
        known: dict[int, int] = {}
        buckets: dict[Any, int] = {}
        tensors = []
        for number, place, parameter in rows:
            name = name_of(self.param_groups, number, place)
            group = self.param_groups[number]
            active = parameter.grad is not None
            names, state = self._state_names(group), self.state.get(parameter, {})
            needed = self._options.keep_state(parameter, state, active) or (
                active and bool(self._counts_steps or names)
            )
            state = self.state[parameter] if needed else state
            done = self._steps_made(state, group, known)
            states = self._own_states(parameter, state, group, name) if active else []
            key = (number, done, active)
            if key not in buckets:
                buckets[key] = len(table.buckets)
                counted = self._counts_steps or table.on_gpu
                count = fp32_number(float(done), self._device) if counted else None
                table.buckets.append(Bucket(group, done, active, names, count, state))
            bucket = table.buckets[buckets[key]]
            if states and not done and not self._counts_steps:
                table.fresh.append(FreshState(state, names, bucket))
            if self._counts_steps and active:
                state["step"] = bucket.count
            extra = extra_states(parameter, state, self._options, name) if needed else {}
            if "master" in extra:
                table.masters.append((parameter, extra["master"]))
            if active and (tensor_state := self._tensor_state(parameter, state)) is not None:
                extra["tensor_state"] = tensor_state
            tensors.append(tensor_of(parameter, states, extra, buckets[key]))
        assert self._engine is not None
        self._engine.bind(tensors, len(table.buckets))
        self._engine.register_parameters(table.parameters)
        table.states = BoundStates(self.state)
        return table

    def _check_whole(self) -> None:
        groups, owner = self.param_groups, type(self).__name__
        if self._uses_tensor_norms:
            fix = "use SGD, Adam, AdamW or Lion, or DistributedDataParallel"
            check_whole(groups, f"{owner} needs the norm of each tensor", fix)
        if self._options.max_norm > 0:
            check_whole(groups, "max_norm needs all gradients", "use model.clip_grad_norm_()")
        if self._checks_for_inf:
            check_whole(
                groups, "tundish.optim.GradScaler needs all gradients", "use ShardedGradScaler"
            )

    def _refuse_capture(self, parameter: Any) -> None:
        if parameter.is_cuda and torch.cuda.is_current_stream_capturing():
            raise ArgumentError(
                f"{type(self).__name__}: a CUDA graph is being captured before the states exist, or after "
                "tensors moved; each replay would start from scratch\n"
                "  fix: run one step before the capture, with the same gradients present"
            )

    def _steps_made(
        self, state: dict[str, Any], group: dict[str, Any], known: dict[int, int]
    ) -> int:
        """Returns the number of steps that a parameter has made before this step.

        If steps are not counted, returns 1 if the parameter has made any step, otherwise 0. `known` caches counts by
        tensor id, because reading a count waits for the GPU.
        """
        if self._counts_steps:
            step = state.get("step", 0)
            if id(step) not in known:
                known[id(step)] = int(step)
            return known[id(step)]
        return int(any(state.get(name) is not None for name in self._state_names(group)))

    def _own_states(
        self, parameter: Any, state: dict[str, Any], group: dict[str, Any], name: str
    ) -> list[Any]:
        out = []
        for key in self._state_names(group):
            value = state.get(key)
            if value is None:
                value = torch.zeros_like(parameter, dtype=torch.float32)
            state[key] = fp32_like(parameter, value, name)
            out.append(state[key])
        return out

    def _start_engine(self, device: Any) -> None:
        if self._engine is not None and device == self._device:
            return
        number = -1 if device.type == "cpu" else device.index
        if device.type not in ("cpu", "cuda"):
            raise ArgumentError(
                f"{type(self).__name__} runs on CPUs and CUDA GPUs, not on {device}"
            )
        self._engine = NativeOptimizer(self._kind, number, torch.get_num_threads())
        self._device = device
        self._norm = None
