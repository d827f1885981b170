"""All tricks of the tuner, one file each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from .accumulate import Accumulate
from .autocast import Bf16, Fp16
from .channels_last import ChannelsLast
from .checkpointing import Checkpointing
from .compile import Compile
from .cuda_graph import CudaGraph
from .cudnn_benchmark import CudnnBenchmark
from .ddp import DdpOptions
from .inplace import InplaceActivations
from .optimizer_kernels import ForeachOptimizer, FusedOptimizer
from .reference_flags import StrictFp32, TorchDefaults
from .set_to_none import SetToNone
from .tf32 import TF32
from .trick import Grade, Trick
from .tundish_muon import TundishMuon
from .tundish_optimizer import TundishOptimizer
from .user_tricks import load_own

# In order of application: flags, layout and modules, optimizer, precision, compiler, graph.
TRICKS: tuple[type[Trick], ...] = (
    StrictFp32,
    TorchDefaults,
    TF32,
    CudnnBenchmark,
    SetToNone,
    InplaceActivations,
    ChannelsLast,
    Checkpointing,
    DdpOptions,
    Accumulate,
    ForeachOptimizer,
    FusedOptimizer,
    TundishOptimizer,
    TundishMuon,
    Bf16,
    Fp16,
    Compile,
    CudaGraph,
)

__all__ = ["TRICKS", "Grade", "Trick", "in_order", "load_own", "trick_from_json"]


def in_order(tricks: Iterable[Trick]) -> list[Trick]:
    """Sorts tricks in order of application. The user's own tricks precede optimizer tricks.

    Tricks must be undone in reverse order.
    """
    own = TRICKS.index(ForeachOptimizer) - 0.5
    places: dict[type[Trick], float] = {kind: place for place, kind in enumerate(TRICKS)}
    return sorted(tricks, key=lambda trick: places.get(type(trick), own))


def trick_from_json(values: dict[str, Any]) -> Trick:
    """Creates a trick from an entry of a plan file. Raises ValueError for unknown names and options."""
    values = dict(values)
    name = values.pop("name", None)
    own = values.pop("own", None)
    for kind in [load_own(own)] if own else TRICKS:
        if kind.name == name:
            unknown = values.keys() - {field.name for field in fields(kind)}
            if unknown:
                raise ValueError(f"trick {name!r} has no option {sorted(unknown)[0]!r}")
            return kind(**values)
    raise ValueError(f"unknown trick {name!r}; known tricks: {', '.join(k.name for k in TRICKS)}")
