"""A GradScaler for optimizers that check gradients for infinity during their step."""

from __future__ import annotations

from typing import Any

import torch
from torch.amp.grad_scaler import OptState

from ._binding.engine_optimizer import EngineOptimizer
from ._binding.tensor_checks import fp32_number


class GradScaler(torch.amp.GradScaler):  # type: ignore[misc]  # torch is Any to mypy
    """torch.amp.GradScaler with the same arguments, numbers and state_dict.

    torch's GradScaler reads and writes every gradient before the optimizer's step to check that it is finite. The
    optimizers of tundish.optim check during their step. With any other optimizer, and after unscale_(), this class
    behaves like torch's.
    """

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        is_engine_optimizer = isinstance(optimizer, EngineOptimizer) and not args and not kwargs
        device = _device_of_gradients(optimizer) if self._enabled and is_engine_optimizer else None
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
        optimizer._checks_for_inf = True
        try:
            result = optimizer.step()
        finally:
            optimizer._checks_for_inf = False
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
