"""A GradScaler whose optimisers look for infinite gradients in the pass that they make anyway."""

from __future__ import annotations

from typing import Any

import torch
from torch.amp.grad_scaler import OptState

from ._binding.engine_optimizer import EngineOptimizer
from ._binding.tensor_checks import fp32_number


class GradScaler(torch.amp.GradScaler):  # type: ignore[misc]  # torch is Any to mypy
    """torch.amp.GradScaler: the same arguments, numbers and state_dict.

    torch's reads and writes every gradient before the optimiser's step to see whether it is finite. The
    optimisers of tundish.optim do that in their step. With any other optimiser, and after unscale_(),
    this is torch's own.
    """

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        ours = isinstance(optimizer, EngineOptimizer) and not args and not kwargs
        device = _device_of_gradients(optimizer) if self._enabled and ours else None
        if device is None:
            return super().step(optimizer, *args, **kwargs)
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is not OptState.READY:
            return super().step(optimizer, *args, **kwargs)
        self._check_scale_growth_tracker("step")
        found_inf = fp32_number(0.0, device)
        # The product of the scales, as in torch, if the caller has set one.
        optimizer.grad_scale = self._get_scale_async() * getattr(optimizer, "grad_scale", 1)
        optimizer.found_inf = found_inf
        optimizer._looks_for_inf = True
        try:
            result = optimizer.step()
        finally:
            optimizer._looks_for_inf = False
            del optimizer.grad_scale, optimizer.found_inf
        state["found_inf_per_device"] = {device: found_inf}
        state["stage"] = OptState.STEPPED
        return result


def _device_of_gradients(optimizer: EngineOptimizer) -> Any:
    """Returns the device of the first parameter with a gradient, or None if none has one."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                return parameter.device
    return None
