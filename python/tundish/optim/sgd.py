"""SGD: torch.optim.SGD in a single pass over memory."""

from __future__ import annotations

from typing import Any

from .._c.structs import OptimizerGroup
from ._binding.engine_optimizer import EngineOptimizer
from ._binding.ranges import check_at_least_0
from ._binding.step_options import refuse_variants


class SGD(EngineOptimizer):
    """SGD in a single pass over memory, a drop-in replacement for torch.optim.SGD.

    Arguments, numerical results and state_dict are the same as torch's. Further keyword arguments, such as max_norm
    and ema_decay, are in docs/optimizers.md.
    """

    _kind = "sgd"
    _counts_steps = False

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
        **more: Any,
    ) -> None:
        refuse_variants("SGD", differentiable=differentiable)
        check_at_least_0("SGD", lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults, more)

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def _fill(self, out: OptimizerGroup, group: dict[str, Any]) -> None:
        out.momentum = group["momentum"]
        out.dampening = group["dampening"]
        out.weight_decay = group["weight_decay"]
        out.nesterov = group["nesterov"]
        out.maximize = group["maximize"]
