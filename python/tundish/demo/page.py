"""What the demo shows at the end: one screen of text, and one page that needs no other file."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from .chart import Bar, bar_chart, line_chart
from .compare import BATCH, OURS, SIDE, THEIRS
from .machine import describe, note

if TYPE_CHECKING:
    from . import Report

CODE = """\
import tundish

loader = tundish.Loader(
    "train.tnd", batch_size=256, shuffle=True, seed=0,
    transforms=[tundish.RandomResizedCrop(224), tundish.RandomHorizontalFlip(),
                tundish.Normalize()],
)
for epoch in range(90):
    for images, labels in loader:      # float32 tensors, channels_last
        loss = criterion(model(images.cuda()), labels.cuda())
        ...
"""

_STYLE = """
body { margin: 0; background: #f8fafc; color: #1e293b;
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 800px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 27px; line-height: 1.25; margin: 0 0 6px; }
h2 { font-size: 18px; margin: 40px 0 10px; }
p { margin: 8px 0; }
.soft { color: #64748b; font-size: 14px; }
.card { background: #fff; border: 1px solid #e2e8f0; border-radius: 10px; padding: 20px 20px 12px; margin: 20px 0; }
svg { display: block; width: 100%; height: auto; }
pre { background: #0f172a; color: #e2e8f0; border-radius: 10px; padding: 16px 20px; overflow-x: auto;
      font: 13.5px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
table { border-collapse: collapse; font-size: 14px; width: 100%; }
td { padding: 5px 12px 5px 0; vertical-align: top; border-bottom: 1px solid #e2e8f0; }
td:first-child { color: #64748b; white-space: nowrap; }
"""


def headline(report: Report) -> str:
    """The one sentence: how much faster, where."""
    rates = report.rates
    if THEIRS not in rates:
        return f"{rates[OURS][1]:,.0f} images per second from one core"
    cores = max(rates[OURS])
    per_core = rates[OURS][1] / rates[THEIRS][1]
    if cores == 1:
        return f"{per_core:.1f}x torch's DataLoader on one core"
    return f"{per_core:.1f}x torch's DataLoader per core, {rates[OURS][cores] / rates[THEIRS][cores]:.1f}x on {cores} cores"


def summary(report: Report, page: Path) -> str:
    """One screen for the terminal."""
    width, lines = 34, ["", f"  {headline(report)}", ""]
    most = max(rate for of in report.rates.values() for rate in of.values())
    for cores in sorted(report.rates[OURS]):
        for name, of in report.rates.items():
            bar = "█" * max(1, round(width * of[cores] / most))
            label = f"{name}, {cores} core{'s' if cores > 1 else ''}"
            lines.append(f"  {label:<36} {bar:<{width}} {of[cores]:>7,.0f} img/s")
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
    return "\n".join([*lines, f"  page      {page}", ""])


def page(report: Report) -> str:
    groups = [
        (
            f"{cores} core{'s' if cores > 1 else ''}",
            [
                Bar(name, of[cores], f"{of[cores]:,.0f} images/s", name == OURS)
                for name, of in report.rates.items()
            ],
        )
        for cores in sorted(report.rates[OURS])
    ]
    parts = [
        f"<h1>{escape(headline(report))}</h1>",
        f"<p class='soft'>RandomResizedCrop({SIDE}) + RandomHorizontalFlip, uint8 batches of {BATCH}, "
        f"{report.images:,} images, {report.bytes / 1e6:,.0f} MB; longer is better</p>",
        f"<div class='card'>{bar_chart(groups, headline(report))}</div>",
    ]
    if report.training is not None:
        t = report.training
        parts += [
            "<h2>It trains</h2>",
            f"<p>A small convolutional network learns {t.classes} classes from the pack in {t.seconds:.0f} s on "
            f"{escape(t.device)}: {t.accuracy:.0%} of {t.held_out:,} images it has not seen are right, chance is "
            f"{t.chance:.0%}. It waited {t.waited:.1f} s for data.</p>",
            f"<div class='card'>{line_chart(t.losses, 'training loss by step', f'loss by step, {len(t.losses)} steps')}</div>",
        ]
    parts += ["<h2>The code</h2>", f"<pre>{escape(CODE)}</pre>"]
    rows = [*report.steps, ("machine", describe(report.machine)), ("versions", _versions(report))]
    rows += [("note", note(report.machine))] if note(report.machine) else []
    if THEIRS in report.rates:
        rows.append((
            "measured",
            "both loaders read the same images from a warm page cache, in turns; the figure is the "
            "median. One core: one thread, or one worker process, pinned to it together with the main process. "
            "./dev bench load compares more loaders, and their pixels.",
        ))  # fmt: skip
    cells = "".join(
        f"<tr><td>{escape(word)}</td><td>{escape(text)}</td></tr>" for word, text in rows
    )
    parts += ["<h2>What was done</h2>", f"<table>{cells}</table>"]
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>Tundish demo</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def _late(losses: list[float]) -> float:
    """The mean of the last tenth: single steps are noisy."""
    last = losses[-max(1, len(losses) // 10) :]
    return sum(last) / len(last)


def _versions(report: Report) -> str:
    return ", ".join(f"{name} {value}" for name, value in report.versions.items())
