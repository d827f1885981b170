"""AdamW: torch.optim.AdamW in a single pass over memory."""

from __future__ import annotations

from typing import Any

from .adam import Adam


class AdamW(Adam):
    """AdamW in a single pass over memory, a drop-in replacement for torch.optim.AdamW.

    Arguments, numerical results and state_dict are the same as torch's. Further keyword arguments, such as max_norm
    and ema_decay, are in docs/optimizers.md.
    """

    _kind = "adamw"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        **more: Any,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
            **more,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
