"""The layers for a terminal."""

from __future__ import annotations

from typing import Any

from ..verdict.phrases import count_text

SHORT, LONG = 5, 40
_NAME = 30


def layers_text(layers: dict[str, Any], most: int = SHORT) -> list[str]:
    """`layers`: of the JSON. Lines without indentation."""
    whose = "its" if layers["steps"] == 1 else "their"
    lines = [
        f"Layers, slowest first ({count_text(layers['steps'], 'step')} of {whose} own)",
        f"  {'':<{_NAME}}{'forward':>10}{'backward':>10}{'share':>7}{'GFLOP':>9}{'MB':>9}{'FLOP/B':>8}{'of roof':>9}",
    ]
    rows = layers["rows"][:most]
    for one in rows:
        flops = "?" if one["flops"] is None else f"{one['flops'] / 1e9:.2f}"
        reached = "" if one["of_roof"] is None else f"{one['of_roof']:.0%}"
        lines.append(
            f"  {_short(one):<{_NAME}}{ms(one['forward_s']):>10}{ms(one['backward_s']):>10}{one['share']:>7.0%}"
            f"{flops:>9}{one['bytes'] / 1e6:>9.1f}{one['intensity']:>8.1f}{reached:>9}"
        )
    rest = layers["rows"][most:]
    if rest or layers["left_out"]:
        count = len(rest) + layers["left_out"]
        lines.append(f"  and {count} more, {sum(one['share'] for one in rest):.0%} of the time")
    lines.append("  " + roof_text(layers["roof"]))
    return lines


def roof_text(roof: dict[str, Any]) -> str:
    """What the machine can do: "roof: copies 21 GB/s, products fp32 92 GFLOP/s"."""
    words = []
    if roof["bytes_per_s"]:
        words.append(f"copies {big(roof['bytes_per_s'])}B/s")
    words += [f"products {name} {big(rate)}FLOP/s" for name, rate in roof["flops_per_s"].items()]
    return "roof, measured: " + (", ".join(words) or "unknown")


def big(value: float) -> str:
    for size, word in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= size:
            return f"{value / size:.3g} {word}"
    return f"{value:.3g} "


def ms(seconds: float) -> str:
    value = seconds * 1e3
    return (
        f"{value:.0f} ms"
        if value >= 100
        else f"{value:.1f} ms"
        if value >= 1
        else f"{value:.2f} ms"
    )


def _short(one: dict[str, Any]) -> str:
    """The end of a long name says more than its beginning."""
    text = f"{one['name']} {one['type']}" if not one["name"].startswith("(") else one["name"]
    return text if len(text) < _NAME else "..." + text[-(_NAME - 4) :]
