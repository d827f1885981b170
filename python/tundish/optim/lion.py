"""Lion: timm's Lion in a single pass over memory."""

from __future__ import annotations

from typing import Any

from .._c.structs import OptimizerGroup
from ._binding.engine_optimizer import EngineOptimizer
from ._binding.ranges import check_at_least_0, check_betas
from ._binding.step_options import refuse_variants


class Lion(EngineOptimizer):
    """Lion in a single pass over memory, a drop-in replacement for timm.optim.Lion.

    Lion updates by the sign of an average of gradients (Chen et al. 2023) and keeps one state per weight. It
    needs a learning rate 3 to 10 times smaller and a weight decay 3 to 10 times larger than AdamW.

    Arguments, numerical results and state_dict are the same as timm's. Further keyword arguments, such as max_norm
    and ema_decay, are in docs/optimizers.md.
    """

    _kind = "lion"
    _counts_steps = False

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        caution: bool = False,
        corrected_weight_decay: bool = False,
        maximize: bool = False,
        foreach: bool | None = None,
        **more: Any,
    ) -> None:
        refuse_variants("Lion", caution=caution)
        check_at_least_0("Lion", lr=lr, weight_decay=weight_decay)
        check_betas("Lion", betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "weight_decay": weight_decay,
            "caution": caution,
            "corrected_weight_decay": corrected_weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults, more)

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg",)

    def _fill(self, out: OptimizerGroup, group: dict[str, Any]) -> None:
        out.beta1, out.beta2 = map(float, group["betas"])
        out.weight_decay = self._corrected_decay(group)
        out.maximize = group["maximize"]
