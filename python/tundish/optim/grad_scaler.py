"""A GradScaler whose optimisers look for infinite gradients in the pass that they make anyway."""

from __future__ import annotations

from typing import Any

import torch
from torch.amp.grad_scaler import OptState

from .optimizer import EngineOptimizer


class GradScaler(torch.amp.GradScaler):  # type: ignore[misc]  # torch is Any to mypy
    """torch.amp.GradScaler: the same arguments, numbers and state_dict.

    torch's reads and writes every gradient before the optimiser's step to see whether it is finite. The
    optimisers of tundish.optim do that in their step. With any other optimiser, and after unscale_(),
    this is torch's own.
    """

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        state = self._per_optimizer_states[id(optimizer)]
        ours = isinstance(optimizer, EngineOptimizer) and not args and not kwargs
        devices = [p.device for group in optimizer.param_groups for p in group["params"][:1]]
        if not (self._enabled and ours and devices) or state["stage"] is not OptState.READY:
            return super().step(optimizer, *args, **kwargs)
        self._check_scale_growth_tracker("step")
        device = devices[0]
        found_inf = torch.zeros((), device=device)
        optimizer.grad_scale, optimizer.found_inf = self._get_scale_async(), found_inf
        optimizer._looks_for_inf = True
        try:
            result = optimizer.step()
        finally:
            optimizer._looks_for_inf = False
            del optimizer.grad_scale, optimizer.found_inf
        state["found_inf_per_device"] = {device: found_inf}
        state["stage"] = OptState.STEPPED
        return result
