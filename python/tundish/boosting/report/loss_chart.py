"""The losses of equal steps: unmodified runs, their band, and the boosted run."""

from __future__ import annotations

from collections.abc import Sequence

from ...report.chart import INK, OTHERS, OURS, SOFT, line, svg, text

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 760, 260, 60, 34, 34


def loss_chart(
    unmodified: Sequence[Sequence[float]], boosted: Sequence[float], limit: float, label: str
) -> str:
    """Draws the curves on top of each other. `limit`: of the difference, relative to the loss."""
    plain = unmodified[0]
    size = sum(abs(loss) for loss in plain) / max(1, len(plain))
    high = max([*plain, *boosted]) + limit * size
    low = min([*plain, *boosted]) - limit * size
    span = (high - low) or 1.0
    inner_w, inner_h = _WIDTH - _LEFT - 12, _HEIGHT - _TOP - _BOTTOM
    step = inner_w / max(1, len(plain) - 1)

    def place(number: int, loss: float) -> str:
        return f"{_LEFT + number * step:.1f},{_TOP + inner_h * (high - loss) / span:.1f}"

    body = [text(0, 14, "loss of equal steps", SOFT, 14, bold=True), *_legend()]
    for share in (0.0, 0.5, 1.0):
        y = _TOP + inner_h * share
        body.append(line(_LEFT, _WIDTH - 12, y, y))
        body.append(text(_LEFT - 8, y + 4, f"{high - share * span:.3g}", SOFT, 12, anchor="end"))
    upper = [place(n, loss + limit * size) for n, loss in enumerate(plain)]
    lower = [place(n, loss - limit * size) for n, loss in enumerate(plain)]
    outline = " ".join([*upper, *reversed(lower)])
    body.append(f"<polygon points='{outline}' fill='{OTHERS}' fill-opacity='0.25'/>")
    for run in unmodified:
        body.append(_curve([place(n, loss) for n, loss in enumerate(run)], OTHERS, 1.5))
    body.append(_curve([place(n, loss) for n, loss in enumerate(boosted)], OURS, 2.5))
    body.append(text(_WIDTH - 12, _HEIGHT - 8, "step", SOFT, 12, anchor="end"))
    return svg(_WIDTH, _HEIGHT, label, body)


def _curve(points: list[str], color: str, width: float) -> str:
    return (
        f"<polyline points='{' '.join(points)}' fill='none' stroke='{color}' "
        f"stroke-width='{width}'/>"
    )


def _legend() -> list[str]:
    out, x = [], 250.0
    for color, meaning in ((OTHERS, "unmodified runs and their band"), (OURS, "boosted")):
        out.append(f"<rect x='{x:.1f}' y='4' width='11' height='11' fill='{color}'/>")
        out.append(text(x + 17, 14, meaning, INK, 12))
        x += 40 + 7 * len(meaning)
    return out
