"""LARS: timm's Lars in two passes over memory: norms, then the update."""

from __future__ import annotations

from typing import Any

from .._c.structs import OptimizerGroup
from ._binding.engine_optimizer import EngineOptimizer
from ._binding.ranges import check_at_least_0


class LARS(EngineOptimizer):
    """LARS for very large batches, a drop-in replacement for timm.optim.Lars.

    LARS is SGD that scales the learning rate of each tensor by the ratio of weight norm to gradient norm (You et
    al. 2017). It is meant for batches of many thousand images. trust_clip=True selects the variant LARC.

    Arguments, numerical results and state_dict are the same as timm's. Further keyword arguments, such as max_norm
    and ema_decay, are in docs/optimizers.md.
    """

    _kind = "lars"
    _counts_steps = False
    _uses_tensor_norms = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        trust_coeff: float = 0.001,
        eps: float = 1e-8,
        trust_clip: bool = False,
        always_adapt: bool = False,
        *,
        maximize: bool = False,
        **more: Any,
    ) -> None:
        check_at_least_0("LARS", lr=lr, momentum=momentum, weight_decay=weight_decay, eps=eps)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "trust_coeff": trust_coeff,
            "eps": eps,
            "trust_clip": trust_clip,
            "always_adapt": always_adapt,
            "maximize": maximize,
        }
        super().__init__(params, defaults, more)

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def _fill(self, out: OptimizerGroup, group: dict[str, Any]) -> None:
        out.momentum = group["momentum"]
        out.dampening = group["dampening"]
        out.weight_decay = group["weight_decay"]
        out.nesterov = group["nesterov"]
        out.trust_coefficient = group["trust_coeff"]
        out.eps = group["eps"]
        out.trust_clip = group["trust_clip"]
        out.always_adapt = group["always_adapt"]
        out.maximize = group["maximize"]
