"""Who runs the code of a data set that stays Python: torch's worker processes, or threads of this process."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from .reasons import Reason
from .where_defined import where_defined

WORKERS = ("processes", "threads", "auto")


@dataclass(frozen=True)
class Workers:
    kind: str  # "processes", "threads"; "" with num_workers=0
    about: str  # for the report


def has_gil() -> bool:
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def choose_workers(theirs: Any, wanted: str) -> Workers:
    """Threads only where somebody asked for them: whether a data set is thread safe cannot be seen from outside."""
    count = theirs.num_workers
    processes = f"{count} process{'es' if count > 1 else ''} of torch"
    if count == 0:
        return Workers("", "none: with num_workers=0 the loop itself makes the batches")
    if wanted == "processes":
        hint = "" if has_gil() else '; this Python has no GIL: workers="auto" takes threads'
        return Workers("processes", f"{processes}{hint}")
    if wanted == "auto" and has_gil():
        return Workers("processes", f"{processes}: this Python has a GIL")
    blocked = _needs_processes(theirs)
    if blocked is not None:
        place = f" ({blocked.where})" if blocked.where else ""
        text = f"{processes}, not threads: {blocked.what}{place}; instead: {blocked.instead}"
        return Workers("processes", text)
    return Workers("threads", f"{count} thread{'s' if count > 1 else ''} of this process")


def _needs_processes(theirs: Any) -> Reason | None:
    """Why threads would not give the batches of processes; None if nothing is known."""
    from torch.utils.data import DataLoader, IterableDataset, MapDataPipe

    kind, dataset = type(theirs), theirs.dataset
    for name in ("__iter__", "_get_iterator"):
        if getattr(kind, name) is not getattr(DataLoader, name):
            what = f"{kind.__name__} iterates in a way of its own"
            return Reason(what, "a DataLoader of torch", where_defined(getattr(kind, name)))
    if isinstance(dataset, IterableDataset | MapDataPipe):
        what = f"{type(dataset).__name__} is divided among processes, each with its own copy"
        return Reason(what, "a data set with __getitem__", where_defined(dataset))
    if theirs.worker_init_fn is not None:
        what = "worker_init_fn changes the process that it is called in"
        instead = "torch.utils.data.get_worker_info() in __getitem__"
        return Reason(what, instead, where_defined(theirs.worker_init_fn))
    if not getattr(theirs, "in_order", True):
        return Reason("in_order=False", "leave it out")
    return None


# What threads change by themselves; the report of every such loader has it.
DIFFERS = (
    "threads share the data set, and the global generators of torch, random and numpy.random: what is drawn from them differs from "
    "torch's processes and from run to run; get_worker_info().rng of a thread is its own, with the numbers of a process"
)
