"""A GradScaler for optimizers that check for infinite gradients during their step."""

from __future__ import annotations

from typing import Any

import torch
from torch.amp.grad_scaler import OptState

from ._binding.engine_optimizer import EngineOptimizer
from ._binding.tensor_checks import fp32_number


class GradScaler(torch.amp.GradScaler):  # type: ignore[misc]  # torch is Any to mypy
    """A torch.amp.GradScaler that saves a pass over the gradients, with the same arguments and state_dict.

    torch's GradScaler reads and writes every gradient before the optimizer's step, to check that it is finite. The
    optimizers of tundish.optim make this check during their step. The results are the same. With any other
    optimizer, and after unscale_(), this class behaves like torch's.
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
        # If the caller has set a scale too, use the product of both, as in torch.
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
