"""step() around an update: torch's hooks, closures and profiler, at the cost of those that are in use.

torch wraps every step() into a profiler's record, which takes 17 us of host time also when nobody profiles.
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
    """An optimiser whose step() is `_update_alone()`."""

    def _update_alone(self) -> None:
        raise NotImplementedError

    def _plain_step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._update_alone()
        return loss

    _recorded_step = torch.optim.Optimizer.profile_hook_step(_plain_step)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        if _is_profiled():
            return self._recorded_step(closure)
        if not (_all_before or _all_after or self._has_hooks()):
            return self._plain_step(closure)
        args: tuple[Any, ...] = (self,) if closure is None else (self, closure)
        words: dict[str, Any] = {}
        for hook in chain(_all_before.values(), self._optimizer_step_pre_hooks.values()):
            if (changed := hook(self, args, words)) is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                )
            args, words = changed
        out = self._plain_step(*args[1:], **words)
        for hook in chain(self._optimizer_step_post_hooks.values(), _all_after.values()):
            hook(self, args, words)
        return out

    step.hooked = True  # type: ignore[attr-defined]  # torch does not wrap it again

    def _has_hooks(self) -> bool:
        return bool(self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks)
