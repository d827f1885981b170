"""step() with support for torch's hooks, closures and profiler, which cost time only if they are used.

torch wraps every step() in a profiler record, which takes 17 us of host time even without a profiler.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import torch
from torch.optim.optimizer import _global_optimizer_post_hooks as _all_after
from torch.optim.optimizer import _global_optimizer_pre_hooks as _all_before

_is_profiled: Callable[[], bool] = torch._C._autograd._profiler_enabled


class Stepping(torch.optim.Optimizer):  # type: ignore[misc]  # torch is Any to mypy
    """Base class of optimizers whose step() runs `_locked_update()`."""

    def _locked_update(self) -> None:
        raise NotImplementedError

    def _plain_step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._locked_update()
        return loss

    _recorded_step = torch.optim.Optimizer.profile_hook_step(_plain_step)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        if _is_profiled():
            return self._recorded_step(closure)
        if not (_all_before or _all_after or self._has_hooks()):
            return self._plain_step(closure)
        args: tuple[Any, ...] = (self,) if closure is None else (self, closure)
        keywords: dict[str, Any] = {}
        for hook in chain(_all_before.values(), self._optimizer_step_pre_hooks.values()):
            if (changed := hook(self, args, keywords)) is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                )
            args, keywords = changed
        out = self._plain_step(*args[1:], **keywords)
        for hook in chain(self._optimizer_step_post_hooks.values(), _all_after.values()):
            hook(self, args, keywords)
        return out

    step.hooked = True  # type: ignore[attr-defined]  # prevents torch from wrapping it again

    def _has_hooks(self) -> bool:
        return bool(self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks)
