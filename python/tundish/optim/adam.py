"""Adam: torch.optim.Adam in a single pass over memory."""

from __future__ import annotations

from typing import Any

from .._c.structs import OptimizerGroup
from ._binding.engine_optimizer import EngineOptimizer
from ._binding.ranges import check_at_least_0, check_betas
from ._binding.step_options import refuse_variants


class Adam(EngineOptimizer):
    """Adam in a single pass over memory, a drop-in replacement for torch.optim.Adam.

    Arguments, numerical results and state_dict are the same as torch's. Further keyword arguments, such as max_norm
    and ema_decay, are in docs/optimizers.md.
    """

    _kind = "adam"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
        **more: Any,
    ) -> None:
        owner = type(self).__name__
        refuse_variants(owner, amsgrad=amsgrad, differentiable=differentiable)
        check_at_least_0(owner, lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(owner, betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults, more)

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _fill(self, out: OptimizerGroup, group: dict[str, Any]) -> None:
        out.beta1, out.beta2 = map(float, group["betas"])
        out.eps = group["eps"]
        out.weight_decay = group["weight_decay"]
        out.maximize = group["maximize"]
        out.decoupled = group["decoupled_weight_decay"]
