"""What an optimizer must know about the other processes of a distributed run."""

from __future__ import annotations

import sys

from ..._c.errors import ArgumentError
from ..._process.ranks import rank_and_world

_ZERO = "torch.distributed.optim.zero_redundancy_optimizer"


def rounding_seed(own: int, calls: int) -> int:
    """Returns the seed for the stochastic rounding of one step.

    Replicas of DistributedDataParallel must round alike, or their weights drift apart. Scripts often seed every
    rank differently, so with several ranks the seed of this process does not count.

    own    torch's seed in this process
    calls  number of this step
    """
    seed = own if rank_and_world()[1] == 1 else 0
    return (seed + calls) % (1 << 64)


def refuse_norm_of_part(owner: str, max_norm: float) -> None:
    """Refuses max_norm in an optimizer that ZeroRedundancyOptimizer makes for a part of the parameters."""
    if max_norm > 0 and _is_made_by_zero():
        limit = "max_grad_norm=None" if owner in ("LAMB", "NVLAMB") else "no max_norm"
        raise ArgumentError(
            f"{owner}: max_norm needs all gradients, and ZeroRedundancyOptimizer gives each process the "
            "parameters of a part\n"
            f"  fix: pass {limit}, and call torch.nn.utils.clip_grad_norm_() before the step"
        )


def _is_made_by_zero() -> bool:
    """Returns whether ZeroRedundancyOptimizer calls the constructor: it passes nothing that shows it."""
    if _ZERO not in sys.modules:
        return False
    maker = sys.modules[_ZERO].ZeroRedundancyOptimizer._init_local_optimizer.__code__
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code is maker:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
