"""Presents the results as rows and tables."""

from __future__ import annotations

import statistics
from typing import Any

from ..common.rows import Rows, middle, table
from . import ours
from .bars import copy_shares, ratios
from .contest import Result
from .measure import REPLAYS

# On a CPU, the host's time is the time of the step. With several threads, "cpu" includes waiting.
GPU_METRICS = ("graph", "eager", "eager, fresh", "host", "host, fresh")
CPU_METRICS = ("host", "host, fresh", "cpu")


def metrics_of(device: str) -> tuple[str, ...]:
    return GPU_METRICS if device == "cuda" else CPU_METRICS


def _name(metric: str, device: str) -> str:
    return metric if device == "cuda" else metric.replace("host", "step")


def _known(result: Result) -> list[str]:
    return [*result.times, *(name for name in result.reasons if name not in result.times)]


def add_rows(rows: Rows, result: Result, about: dict[str, Any]) -> None:
    what = {"set": result.set, "optimizer": result.job, "tensors": result.tensors}
    what |= {"elements": result.elements} | about
    if result.others:
        what |= {"others_busy": round(max(result.others), 3), "noisy_rounds": result.noisy}
    device = about["device"]
    if result.copy:
        rows.add("copy", "copy", [value / 1e9 for value in result.copy], "GB/s", **what)
    for name in _known(result):
        more = dict(what)
        if name in result.steps:
            more["steps_per_turn"] = result.steps[name]
        if name in result.errors:
            more["error"] = float(f"{result.errors[name]:.2e}")
        if name in result.reasons:
            rows.note(name, "step", result.reasons[name], **more)
        for metric in metrics_of(device):
            values = result.values(name, metric)
            if values:
                count = {"steps_per_turn": REPLAYS} if metric == "graph" else {}
                micros = [1e6 * value for value in values]
                rows.add(name, _name(metric, device), micros, "us", **more | count)
            if values and name != ours.NAME and (gains := ratios(result, name, metric)):
                pair = f"{name} / {ours.NAME}"
                rows.add(pair, f"ratio, {_name(metric, device)}", gains, "x", **what)
        if name in result.graph_reasons:
            rows.note(name, "graph", result.graph_reasons[name], **more)
        shares = copy_shares(result, name, metrics_of(device)[0])
        if shares:
            rows.add(name, "share of copy", [100 * share for share in shares], "%", **more)


def _cell(values: list[float]) -> str:
    if not values:
        return "-"
    median, spread = middle([1e6 * value for value in values])
    return (
        f"{median:,.1f} ±{100 * spread:.0f}%"
        if median < 1e4
        else f"{median:,.0f} ±{100 * spread:.0f}%"
    )


def tables(result: Result, device: str) -> str:
    """Returns tables in microseconds, with the spread. Contestants without a result are listed below."""
    metrics = metrics_of(device)
    on_gpu = device == "cuda"
    shares_head = ["% of copy"] if on_gpu else []
    head = ["contestant", *(_name(metric, device) for metric in metrics), *shares_head, "x ours"]
    lines = []
    for name in result.times:
        shares = copy_shares(result, name, metrics[0])
        gains = ratios(result, name, metrics[0])
        lines.append(
            [
                name,
                *(_cell(result.values(name, metric)) for metric in metrics),
                *([f"{100 * statistics.median(shares):.1f}" if shares else "-"] if on_gpu else []),
                f"{statistics.median(gains):.2f}" if gains else "-",
            ]
        )
    copy = f", copy {statistics.median(result.copy) / 1e9:,.1f} GB/s" if result.copy else ""
    title = f"{result.set}, {result.job}: {result.tensors} tensors, {result.elements:,} elements"
    if result.others:
        copy += f", others used up to {max(result.others):.0%} of the CPUs"
    notes = [f"{name}: no time: {why}" for name, why in result.reasons.items()]
    notes += [f"{name}: no graph: {why}" for name, why in result.graph_reasons.items()]
    shown = [table(head, lines)] if lines else []
    return "\n".join([f"{title}{copy}; microseconds per step", *shown, *notes, ""])
