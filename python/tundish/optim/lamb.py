"""LAMB and NVLAMB: timm's Lamb in two passes over memory: moments with norms, then the update."""

from __future__ import annotations

from typing import Any

from .._c.errors import ArgumentError
from .._c.structs import OptimizerGroup
from ._binding.engine_optimizer import EngineOptimizer
from ._binding.ranges import check_at_least_0, check_betas
from ._binding.step_options import refuse_variants


class LAMB(EngineOptimizer):
    """LAMB for large batches, a drop-in replacement for timm.optim.Lamb.

    LAMB is Adam that scales the step of each tensor by the ratio of weight norm to update norm (You et al. 2019).
    Arguments, numerical results and state_dict are the same as timm's, with one exception. Steps are counted per
    parameter, whereas timm counts them per group. The bias correction therefore differs for a parameter whose
    gradient was None in some steps.

    `max_grad_norm` is timm's name for `max_norm` and has timm's default. Further keyword arguments, such as
    ema_decay, are in docs/optimizers.md.
    """

    _kind = "lamb"
    _uses_tensor_norms = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
        grad_averaging: bool = True,
        max_grad_norm: float | None = 1.0,
        trust_clip: bool = False,
        always_adapt: bool = False,
        caution: bool = False,
        decoupled_decay: bool = False,
        corrected_weight_decay: bool = False,
        *,
        maximize: bool = False,
        **more: Any,
    ) -> None:
        owner = type(self).__name__
        refuse_variants(owner, caution=caution)
        check_at_least_0(owner, lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(owner, betas)
        if "max_norm" in more and max_grad_norm not in (1.0, None, more["max_norm"]):
            raise ArgumentError(
                f"{owner}: max_norm={more['max_norm']} and max_grad_norm={max_grad_norm} set the same limit\n"
                "  fix: pass only one of them"
            )
        more.setdefault("max_norm", max_grad_norm)
        defaults = {
            "lr": lr,
            "bias_correction": bias_correction,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "grad_averaging": grad_averaging,
            "max_grad_norm": max_grad_norm,
            "trust_clip": trust_clip,
            "always_adapt": always_adapt,
            "caution": caution,
            "decoupled_decay": decoupled_decay,
            "corrected_weight_decay": corrected_weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults, more)

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _fill(self, out: OptimizerGroup, group: dict[str, Any]) -> None:
        out.beta1, out.beta2 = map(float, group["betas"])
        out.eps = group["eps"]
        decoupled = group["decoupled_decay"]
        out.weight_decay = self._corrected_decay(group) if decoupled else group["weight_decay"]
        out.decoupled = decoupled
        out.bias_correction = group["bias_correction"]
        out.grad_averaging = group["grad_averaging"]
        out.trust_clip = group["trust_clip"]
        out.always_adapt = group["always_adapt"]
        out.maximize = group["maximize"]


class NVLAMB(LAMB):
    """LAMB that also scales the step of tensors without weight decay, as Apex's FusedLAMB(use_nvlamb=True) does."""

    _always_adapts = True  # a loaded state must not turn it into LAMB

    def __init__(self, params: Any, lr: Any = 1e-3, *arguments: Any, **more: Any) -> None:
        more.setdefault("always_adapt", True)
        super().__init__(params, lr, *arguments, **more)
