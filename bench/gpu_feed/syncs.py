"""How often does a step make the host wait for the GPU? Counted in two ways."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from .feed import Feed
from .step import Training, clock

WAITS = {
    f"{prefix}{what}Synchronize"
    for prefix, whats in (
        ("cuda", ("Device", "Stream", "Event")),
        ("cu", ("Ctx", "Stream", "Event")),
    )
    for what in whats
} | {"cudaMemcpy", "cudaFree", "cudaFreeHost"}  # these calls wait too


@dataclass(frozen=True)
class Syncs:
    """The number of waits per step."""

    warned: float  # waits in next() that torch's sync-debug mode warned about
    in_next: float  # waits in next(), from the trace
    trainer: float  # waits anywhere in the trainer's thread, from the trace
    others: float  # waits in other threads, which do not block the trainer, from the trace
    names: dict[str, int]  # names and counts of the waiting calls in the trainer's thread


def count_syncs(feed: Feed, training: Training, steps: int) -> Syncs:
    """Counts the waits, without the limit on how far the loop may be ahead, which itself waits."""
    warned = sum(_count_warnings(feed, training) for _ in range(steps))
    clock(training.device).finish()
    kinds = [ProfilerActivity.CPU]
    if training.device == "cuda":
        kinds.append(ProfilerActivity.CUDA)
    with profile(activities=kinds) as seen:
        for _ in range(steps):
            with record_function("feed.next"):
                images, labels = next(feed)
            with record_function("feed.step"):
                training(images, labels)
        clock(training.device).finish()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        seen.export_chrome_trace(str(file))
        traced = read_trace(json.loads(file.read_text())["traceEvents"])
    inside, trainer, others = (len(calls) / steps for calls in traced)
    names = {name: traced[1].count(name) for name in sorted(set(traced[1]))}
    return Syncs(warned / steps, inside, trainer, others, names)


def read_trace(events: list[dict[str, Any]]) -> tuple[list[str], list[str], list[str]]:
    """Returns the names of calls that wait, from the first next() to the end of the last step.

    The three lists are: calls in next(), calls in the trainer's thread, calls in other threads.
    """
    marks = [event for event in events if event.get("cat") == "user_annotation"]
    nexts = [mark for mark in marks if mark["name"] == "feed.next"]
    steps = [mark for mark in marks if mark["name"] == "feed.step"]
    thread, begin = nexts[0]["tid"], nexts[0]["ts"]
    end = steps[-1]["ts"] + steps[-1]["dur"]
    inside, trainer, others = [], [], []
    for event in events:
        if event.get("name") not in WAITS or not begin <= event["ts"] <= end:
            continue
        if event["tid"] != thread:
            others.append(event["name"])
            continue
        trainer.append(event["name"])
        if any(mark["ts"] <= event["ts"] <= mark["ts"] + mark["dur"] for mark in nexts):
            inside.append(event["name"])
    return inside, trainer, others


def _count_warnings(feed: Feed, training: Training) -> int:
    """Returns the number of warnings in one step."""
    with warnings.catch_warnings(record=True) as seen, _sync_warnings(training.device):
        warnings.simplefilter("always")
        seen.clear()
        images, labels = next(feed)
        count = sum("synchroniz" in str(warning.message) for warning in seen)
    training(images, labels)
    return count


@contextmanager
def _sync_warnings(device: str) -> Iterator[None]:
    if device != "cuda":
        yield
        return
    torch.cuda.set_sync_debug_mode("warn")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")
