"""Shows the demo's results as one screen of text and as a self-contained HTML page."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ..report import html_page as html
from ..report.chart import Bar, bar_chart, line_chart
from ..report.machine import describe, note
from .torch_comparison import BATCH, OURS, SIDE, THEIRS

if TYPE_CHECKING:
    from . import DemoReport
    from .diagnose import Diagnosis

CODE = """\
import tundish
from tundish import transforms as T

loader = tundish.Loader(
    "train.tnd", batch_size=256, shuffle=True, seed=0,
    transforms=[T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.Normalize()],
)
for epoch in range(90):
    for images, labels in loader:      # float32 tensors, channels_last
        loss = criterion(model(images.cuda()), labels.cuda())
        ...
"""


def headline(report: DemoReport) -> str:
    """Returns the result in one sentence."""
    rates = report.rates
    if THEIRS not in rates:
        return f"{rates[OURS][1]:,.0f} images per second from one core"
    gains = {cores: rates[OURS][cores] / rates[THEIRS][cores] for cores in rates[OURS]}
    best = max(gains, key=lambda cores: gains[cores])
    out = f"{gains[best]:.1f}x torch's DataLoader on {_cores(best)}"
    before, after = (report.doctor.get(when) for when in ("before", "after"))
    if before and after and before.step_s and after.step_s and before.step_s > after.step_s:
        out += f"; the training step goes from {before.step_s * 1e3:.1f} to {after.step_s * 1e3:.1f} ms"
    return out


def _cores(count: int) -> str:
    return "one core" if count == 1 else f"{count} cores"


def summary(report: DemoReport, page: Path) -> str:
    """Returns one screen of text for the terminal."""
    width, lines = 34, ["", f"  {headline(report)}", ""]
    most = max(rate for by_cores in report.rates.values() for rate in by_cores.values())
    for cores in sorted(report.rates[OURS]):
        for name, by_cores in report.rates.items():
            bar = "█" * max(1, round(width * by_cores[cores] / most))
            label = f"{name}, {cores} core{'s' if cores > 1 else ''}"
            lines.append(f"  {label:<36} {bar:<{width}} {by_cores[cores]:>7,.0f} img/s")
    lines += [
        "",
        f"  work      RandomResizedCrop({SIDE}) + flip, uint8 batches of {BATCH}, {report.images:,} images",
    ]
    if report.training is not None:
        t = report.training
        lines.append(
            f"  training  loss {t.losses[0]:.2f} -> {_late(t.losses):.2f} in {t.seconds:.0f} s on {t.device}; "
            f"{t.accuracy:.0%} of {t.held_out:,} unseen images right (chance {t.chance:.0%})"
        )
    lines += [f"  machine   {describe(report.machine)}", f"  versions  {_versions(report)}"]
    lines += [f"  note      {note(report.machine)}"] if note(report.machine) else []
    lines.append(f"  page      {page}")
    for when, diagnosis in report.doctor.items():
        by = "torch's DataLoader" if when == "before" else "tundish.Loader"
        lines += ["", f"  doctor    {when}, {by}: {_step(diagnosis)}"]
        lines.append(f"            {diagnosis.sentence}")
    return "\n".join([*lines, ""])


def page(report: DemoReport) -> str:
    groups = [
        (
            f"{cores} core{'s' if cores > 1 else ''}",
            [
                Bar(name, by_cores[cores], f"{by_cores[cores]:,.0f} images/s", name == OURS)
                for name, by_cores in report.rates.items()
            ],
        )
        for cores in sorted(report.rates[OURS])
    ]
    parts = [
        f"<h1>{escape(headline(report))}</h1>",
        f"<p class='soft'>RandomResizedCrop({SIDE}) + RandomHorizontalFlip, uint8 batches of {BATCH}, "
        f"{report.images:,} images, {report.bytes / 1e6:,.0f} MB; longer is better</p>",
        html.card(bar_chart(groups, headline(report))),
    ]
    if report.training is not None:
        t = report.training
        parts += [
            "<h2>Training</h2>",
            f"<p>A small convolutional network learns {t.classes} classes from the pack in {t.seconds:.0f} s on "
            f"{escape(t.device)}: {t.accuracy:.0%} of {t.held_out:,} unseen images are classified correctly; chance is "
            f"{t.chance:.0%}. Training waited {t.waited:.1f} s for data.</p>",
            html.card(
                line_chart(
                    t.losses, "training loss by step", f"loss by step, {len(t.losses)} steps"
                )
            ),
        ]
    parts += _doctor(report)
    parts += ["<h2>The code</h2>", f"<pre>{escape(CODE)}</pre>"]
    rows = [*report.steps, ("machine", describe(report.machine)), ("versions", _versions(report))]
    rows += [("note", note(report.machine))] if note(report.machine) else []
    if THEIRS in report.rates:
        rows.append((
            "measured",
            "both loaders read the same images from a warm page cache, taking turns; the figure is the "
            "median. One core: one thread, or one worker process, pinned to it together with the main process. "
            "./dev bench load compares more loaders, and their pixels.",
        ))  # fmt: skip
    parts += ["<h2>How it was measured</h2>", html.table(rows)]
    return html.page(f"Tundish demo: {headline(report)}", parts)


def _doctor(report: DemoReport) -> list[str]:
    """Returns the doctor's section: the training step with torch's DataLoader and with Tundish, on one scale."""
    known = [d for d in report.doctor.values() if d.step_s and d.ceiling_s is not None]
    if not known:
        return []
    longest = max(diagnosis.step_s or 0.0 for diagnosis in known)
    rows = []
    parts = ["<h2>The doctor's verdict</h2>"]
    for when, diagnosis in report.doctor.items():
        by = "torch's DataLoader" if when == "before" else "tundish.Loader"
        parts.append(f"<p>{when}, {by}: {escape(diagnosis.sentence)}</p>")
        if diagnosis.step_s and diagnosis.ceiling_s is not None:
            ours = when == "after"
            length = diagnosis.step_s / longest
            rows.append(html.BarRow(f"step {when}", 0, length, _step(diagnosis), ours))
            free = f"{diagnosis.ceiling_s * 1e3:.1f} ms"
            rows.append(html.BarRow("if data were free", 0, diagnosis.ceiling_s / longest, free))
    return [*parts, html.bars(rows, "milliseconds of a training step")]


def _step(diagnosis: Diagnosis) -> str:
    if diagnosis.step_s is None:
        return "no step"
    return f"{diagnosis.step_s * 1e3:.1f} ms per step"


def _late(losses: list[float]) -> float:
    """Returns the mean loss of the last tenth of the steps, because single steps are noisy."""
    last = losses[-max(1, len(losses) // 10) :]
    return sum(last) / len(last)


def _versions(report: DemoReport) -> str:
    return ", ".join(f"{name} {value}" for name, value in report.versions.items())
