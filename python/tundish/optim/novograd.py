"""NovoGrad: Apex's FusedNovoGrad in two passes over memory: norms, then the update."""

from __future__ import annotations

from typing import Any

import torch

from .._c.errors import ArgumentError
from .._c.structs import OptimizerGroup
from ._binding.engine_optimizer import EngineOptimizer
from ._binding.foreign_states import add_group_norms
from ._binding.ranges import check_at_least_0, check_betas
from ._binding.step_options import refuse_variants
from ._binding.tensor_checks import fp32_number


class NovoGrad(EngineOptimizer):
    """NovoGrad with the arguments and formulas of apex.optimizers.FusedNovoGrad.

    NovoGrad is Adam with one second moment per tensor: an average of the norms of the tensor's gradients
    (Ginsburg et al. 2019). It keeps one state per weight. As in Apex, state[p]["exp_avg_sq"] is an average of
    norms, not of squares. Apex keeps the norms in its groups; state_dict() writes them there too.

    Further keyword arguments, such as max_norm and ema_decay, are in docs/optimizers.md.
    """

    _kind = "novograd"
    _uses_tensor_norms = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        reg_inside_moment: bool = False,
        grad_averaging: bool = True,
        norm_type: int = 2,
        init_zero: bool = False,
        *,
        maximize: bool = False,
        **more: Any,
    ) -> None:
        refuse_variants("NovoGrad", amsgrad=amsgrad)
        check_at_least_0("NovoGrad", lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas("NovoGrad", betas)
        if norm_type != 2:
            raise ValueError(f"NovoGrad: norm_type must be 2, not {norm_type}")
        defaults = {
            "lr": lr,
            "bias_correction": bias_correction,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "reg_inside_moment": reg_inside_moment,
            "grad_averaging": grad_averaging,
            "norm_type": norm_type,
            "init_zero": init_zero,
            "maximize": maximize,
        }
        super().__init__(params, defaults, more)

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg",)

    def _saved_names(self, group: dict[str, Any]) -> set[str]:
        return {"exp_avg", "exp_avg_sq"}

    def _complete(self, saved: dict[str, Any]) -> None:
        super()._complete(saved)
        add_group_norms(saved, self.param_groups)

    def _tensor_state(self, parameter: Any, state: dict[str, Any]) -> Any:
        value = state.get("exp_avg_sq")
        if value is None:
            value = fp32_number(0.0, parameter.device)
        if value.numel() != 1:
            raise ArgumentError(
                f"NovoGrad: exp_avg_sq of the state has {value.numel()} numbers per tensor instead of 1: "
                "it is the state of another optimizer"
            )
        state["exp_avg_sq"] = value.to(parameter.device, torch.float32)
        return state["exp_avg_sq"]

    def _fill(self, out: OptimizerGroup, group: dict[str, Any]) -> None:
        out.beta1, out.beta2 = map(float, group["betas"])
        out.eps = group["eps"]
        out.weight_decay = group["weight_decay"]
        out.bias_correction = group["bias_correction"]
        out.grad_averaging = group["grad_averaging"]
        out.reg_inside_moment = group["reg_inside_moment"]
        out.init_zero = group["init_zero"]
        out.maximize = group["maximize"]
