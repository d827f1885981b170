"""The project's performance goals ("bars") for optimizers, and whether a run reaches them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from . import flat, ours, timm_, torch_fused, torch_loop, torch_separate
from .contest import Result
from .jobs import JOBS

COPY_SHARE = {"vit_b": 0.85, "resnet50": 0.75}
LARGE = tuple(COPY_SHARE)


@dataclass(frozen=True)
class Bar:
    text: str
    job: str
    set: str
    limit: float
    unit: str  # "x", "%" or "us"
    values: Callable[[Result], list[float]]  # returns a value per round; empty if not measured
    at_most: bool = False

    def line(self, result: Result | None) -> str:
        """Returns a line of text on this goal, or "" if the run did not measure it."""
        if result is None:
            return ""
        asked = f"{'under' if self.at_most else 'at least'} {self.limit:g} {self.unit}"
        head = f"bar: {self.text}, {self.job}, {self.set}: {asked};"
        values = self.values(result)
        if not values:
            return f"{head} not measured"
        figure = statistics.median(values)
        met = figure < self.limit if self.at_most else figure >= self.limit
        shown = f"{figure:.2f}" if self.unit == "x" else f"{figure:.1f}"
        return f"{head} figure {shown} {self.unit}, {'met' if met else 'not met'}"


def ratios(result: Result, rival: str, metric: str, mine: str = ours.NAME) -> list[float]:
    """Returns, for each round, how many times as long as ours the rival takes."""
    pairs = zip(result.values(rival, metric), result.values(mine, metric))
    return [other / own for other, own in pairs]


def copy_shares(result: Result, contestant: str, metric: str = "graph") -> list[float]:
    """Returns, for each round, the speed of a step relative to a plain copy of memory.

    This is the minimum of bytes that the step must move, divided by the bytes that a copy moves in the
    same time.
    """
    least = JOBS[result.job].bytes
    if least is None:
        return []
    pairs = zip(result.values(contestant, metric), result.copy)
    return [least * result.elements / seconds / bandwidth for seconds, bandwidth in pairs]


def _times(rival: str, metric: str) -> Callable[[Result], list[float]]:
    return lambda result: ratios(result, rival, metric)


def _percent_of_copy(result: Result) -> list[float]:
    return [100 * share for share in copy_shares(result, ours.NAME)]


def _microseconds(contestant: str, metric: str) -> Callable[[Result], list[float]]:
    return lambda result: [1e6 * value for value in result.values(contestant, metric)]


def gpu_bars() -> Iterator[Bar]:
    for name, share in COPY_SHARE.items():
        for job, what in JOBS.items():
            if what.bytes is not None:
                text = "GPU time under a graph, as a share of copy"
                yield Bar(text, job, name, 100 * share, "%", _percent_of_copy)
    for metric in ("graph", "eager"):
        text = f"torch.optim.Muon's time ({metric}) over ours"
        yield Bar(text, "muon", "vit_b", 1.5, "x", _times(torch_loop.NAME, metric))
    for job in ("sgd", "adamw"):
        for contestant, metric, limit in (
            (flat.NAME, "host", 50.0),
            (ours.NAME, "host", 200.0),
            (ours.NAME, "host, fresh", 200.0),
        ):
            text = f"host time of {contestant} ({metric})"
            values = _microseconds(contestant, metric)
            yield Bar(text, job, "small500", limit, "us", values, at_most=True)
    for name in LARGE:
        for job in ("lamb", "lamb_clip", "lars"):
            for metric, limit in (("eager", 50.0), ("graph", 10.0)):
                text = f"timm's time ({metric}) over ours"
                yield Bar(text, job, name, limit, "x", _times(timm_.NAME, metric))
        for job in ("adamw_clip_ema", "adamw_scaler_clip_ema"):
            for metric in ("eager", "graph"):
                text = f"time of separate fused calls ({metric}) over ours"
                yield Bar(text, job, name, 5.0, "x", _times(torch_separate.NAME, metric))


def cpu_bars() -> Iterator[Bar]:
    for name in LARGE:
        for job in ("sgd", "adamw"):
            text = "time of torch's fused kernels over ours"
            yield Bar(text, job, name, 1.0, "x", _times(torch_fused.NAME, "host"))
        for job in ("lamb", "lamb_clip"):
            yield Bar("timm's time over ours", job, name, 5.0, "x", _times(timm_.NAME, "host"))


def bar_lines(results: Sequence[Result], device: str) -> list[str]:
    by_name = {(result.set, result.job): result for result in results}
    bars = gpu_bars() if device == "cuda" else cpu_bars()
    return [line for bar in bars if (line := bar.line(by_name.get((bar.set, bar.job))))]
