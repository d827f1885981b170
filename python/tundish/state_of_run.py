"""Where a run stands: what Loader.state_dict() says, and whether a loader can go on from it."""

from __future__ import annotations

from typing import Any

from . import checks
from ._library import new_error

FORMAT = 1


def place(state: Any, own: dict[str, Any], path: Any, positions: int) -> tuple[int, int]:
    """Epoch and position of a state, for a loader whose own state is `own`."""
    wanted = {"format", "fingerprint", "epoch", "position"}
    if not isinstance(state, dict) or wanted - set(state) or state["format"] != FORMAT:
        raise ValueError(f"not a state of this version of tundish.Loader: {state!r}")
    if state["fingerprint"] != own["fingerprint"]:
        raise new_error(
            603,
            f"TND-603 {path} cannot go on from this state\n"
            f"  why: it was saved with other data, another seed ({state.get('seed')}, here {own['seed']}), "
            f"other transforms or another order ({state.get('order')}, here {own['order']})\n"
            "  what now: build the loader as it was when the state was saved",
        )
    epoch = checks.whole(state["epoch"], "epoch of a state", least=0, most=2**63 - 1)
    return epoch, checks.whole(state["position"], "position of a state", 0, positions)
