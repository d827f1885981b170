"""Presents the results of a run as rows, tables and a chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tundish.report.chart import Bar, bar_chart

from ..common.result_files import read_rows
from ..common.rounds import Interval, interval
from ..common.rows import Rows, middle, table
from . import resident_batch, tundish_auto, tundish_cpu, tundish_gpu
from .starts import Start
from .syncs import Syncs
from .turn import Turn

BASE = resident_batch.NAME
OVER, BUSY = "step over the resident batch's", "GPU busy"
HEAD = ["contestant", "step ms", "images/s", "over the resident batch's", "GPU waits", "in next()"]
HEAD += ["cores", "GPU busy", "rounds"]


@dataclass
class Results:
    """The results for one model."""

    model: str
    batch: int
    rounds: list[dict[str, Turn]] = field(default_factory=list)  # turns of each round by contestant
    failed: dict[str, str] = field(default_factory=dict)
    loaders: dict[str, dict[str, Any]] = field(default_factory=dict)  # threads, decoding device
    syncs: dict[str, Syncs] = field(default_factory=dict)
    starts: dict[str, list[Start]] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)  # facts about the step

    def pairs(self, name: str) -> list[tuple[Turn, Turn]]:
        """Returns (turn, the baseline's turn in the same round) for each round."""
        return [(one[name], one[BASE]) for one in self.rounds if name in one and BASE in one]

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for one in self.rounds for name in one))


def add_rows(rows: Rows, results: Results) -> None:
    """Adds the model's rows. Replaces its existing rows."""
    rows.forget(model=results.model)
    for name in results.names():
        _add_turns(rows, results, name)
    sure = auto_over_better(results)
    if sure is not None:
        values, between = sure
        more = {"low": round(between.low, 5), "high": round(between.high, 5)}
        rows.add(
            tundish_auto.NAME, "step over the better path's", values, "x", **more, **_more(results)
        )
    for name, syncs in results.syncs.items():
        more = _more(results)
        rows.add(name, "waits in next(), torch's sync debug", [syncs.warned], "per step", **more)
        rows.add(name, "waits in next(), trace", [syncs.in_next], "per step", **more)
        calls = more | {"calls": syncs.names}
        rows.add(name, "waits of the trainer's thread, trace", [syncs.trainer], "per step", **calls)
        rows.add(name, "waits of other threads, trace", [syncs.others], "per step", **more)
    for name, starts in results.starts.items():
        more = _more(results)
        rows.add(name, "first batch", [one.first_batch_s for one in starts], "s", **more)
        host, gpu = (
            [getattr(one, member) for one in starts]
            for member in ("end_host_steps", "end_gpu_steps")
        )
        rows.add(name, "longest time in next() at an epoch's end", host, "steps", **more)
        rows.add(name, "longest wait of the GPU at an epoch's end", gpu, "steps", **more)
    for name, reason in results.failed.items():
        rows.note(name, "failure", reason, **_more(results))


def _more(results: Results) -> dict[str, Any]:
    return {"model": results.model, "batch": results.batch} | results.about


def _add_turns(rows: Rows, results: Results, name: str) -> None:
    more = _more(results) | results.loaders.get(name, {})
    pairs = results.pairs(name)
    turns = [turn for turn, _ in pairs]
    if not turns:
        return
    steps = [turn.step_s for turn in turns]
    each = [round(1e3 * step, 4) for step in steps]
    rows.add(name, "step", [1e3 * step for step in steps], "ms", each=each, **more)
    rows.add(name, "images_per_s", [results.batch / step for step in steps], "images/s", **more)
    waits = [turn.gpu_wait_s / turn.step_s for turn in turns]
    rows.add(name, "GPU waits for data", waits, "of the step", **more)
    hosts = [turn.host_wait_s / turn.step_s for turn in turns]
    longest = max(turn.longest_host_wait_s for turn in turns)
    rows.add(name, "time in next()", hosts, "of the step", longest_s=round(longest, 6), **more)
    rows.add(name, "CPU", [turn.cpu_s / turn.step_s for turn in turns], "cores", **more)
    busy = [turn.busy for turn in turns if turn.busy is not None]
    if busy:
        rows.add(name, BUSY, busy, "of the time", **more)
    if name == BASE:
        return
    ratios = [turn.step_s / base.step_s for turn, base in pairs]
    sure = interval(ratios)
    between = {"low": round(sure.low, 5), "high": round(sure.high, 5)}
    rows.add(name, OVER, ratios, "x", **between, **more)
    rows.add(name, "CPU beyond the resident batch's", cores(pairs), "cores", **more)


def cores(pairs: Sequence[tuple[Turn, Turn]]) -> list[float]:
    """Returns how many cores each turn used in addition to the baseline in the same round."""
    return [(turn.cpu_s - base.cpu_s) / turn.step_s for turn, base in pairs]


def auto_over_better(results: Results) -> tuple[list[float], Interval] | None:
    """Compares the loader's choice with the better of GPU and CPU decoding in each round."""
    names = (tundish_auto.NAME, tundish_cpu.NAME, tundish_gpu.NAME)
    values = []
    for one in results.rounds:
        if all(name in one for name in names):
            auto, cpu, gpu = (one[name].step_s for name in names)
            values.append(auto / min(cpu, gpu))
    return (values, interval(values)) if values else None


def tables(results: Results) -> str:
    lines = []
    for name in results.names():
        pairs = results.pairs(name)
        if not pairs:
            continue
        turns = [turn for turn, _ in pairs]
        step = middle([turn.step_s for turn in turns])[0]
        over = interval([turn.step_s / base.step_s for turn, base in pairs]).percent()
        busy = [turn.busy for turn in turns if turn.busy is not None]
        line = [name, f"{1e3 * step:.2f}", f"{results.batch / step:,.0f}"]
        line += ["" if name == BASE else over]
        line += [f"{middle([t.gpu_wait_s / t.step_s for t in turns])[0]:.2%}"]
        line += [f"{middle([t.host_wait_s / t.step_s for t in turns])[0]:.2%}"]
        line += ["" if name == BASE else f"{middle(cores(pairs))[0]:.2f}"]
        line += [f"{middle(busy)[0]:.0%}" if busy else "", str(len(turns))]
        lines.append(line)
    out = [f"{results.model}, batches of {results.batch}", table(HEAD, lines)]
    sure = auto_over_better(results)
    if sure is not None:
        chosen = results.loaders.get(tundish_auto.NAME, {}).get("decoding", "nothing")
        out.append(f"auto chose {chosen}: {sure[1].percent()} over the better path")
    for name, syncs in results.syncs.items():
        out.append(
            f"{name}: waits per step in next() {syncs.warned:g} (torch), {syncs.in_next:g} (trace), "
            f"in the trainer's thread {syncs.trainer:g} {syncs.names or ''}, in others {syncs.others:g}"
        )
    for name, starts in results.starts.items():
        first = max(one.first_batch_s for one in starts)
        host, gpu = (
            max(one.end_host_steps for one in starts),
            max(one.end_gpu_steps for one in starts),
        )
        out.append(
            f"{name}: first batch within {first:.3f} s; an epoch's end at most {host:.2f} steps in next(), "
            f"{gpu:.3f} steps of the GPU ({len(starts)} loaders)"
        )
    out += [f"{name}: {reason}" for name, reason in results.failed.items()]
    return "\n".join(out)


def draw(file: Path) -> str:
    """Draws the chart from stored rows: how busy the GPU is, and how long a step takes."""
    rows = read_rows(file)
    groups = []
    for model in dict.fromkeys(row["model"] for row in rows):
        mine = [row for row in rows if row["model"] == model]
        over = {row["contestant"]: row["value"] for row in mine if row["metric"] == OVER}
        bars = []
        for row in mine:
            if row["metric"] != BUSY:
                continue
            name, share = row["contestant"], row["value"]
            times = f", step {over[name]:.3f}x" if name in over else ""
            bars.append(Bar(name, 100 * share, f"{share:.0%}{times}", name.startswith("tundish")))
        groups.append((f"{model}: time in which the GPU is busy", bars))
    label = "Share of the time in which the GPU is busy, and the step over that on a resident batch"
    return bar_chart(groups, label)
