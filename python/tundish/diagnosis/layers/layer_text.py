"""Formats the table of layers for a terminal."""

from __future__ import annotations

from ..doctor_json import LayerJson, LayersJson, RoofJson
from ..phrases import count_text

SHORT, LONG = 5, 40
_NAME = 30
CACHE_NOTE = ">100%: the layer's data stay in a cache, which is faster than the measured copies"


def layers_text(layers: LayersJson, most: int = SHORT) -> list[str]:
    """Formats the "layers" object of the JSON. Returns lines without indentation."""
    lines = [
        f"Layers, slowest first ({count_text(layers['steps'], 'extra step')})",
        f"  {'':<{_NAME}}{'forward':>10}{'backward':>10}{'share':>7}{'GFLOP':>9}{'MB':>9}{'FLOP/B':>8}{'of roof':>9}",
    ]
    rows = layers["rows"][:most]
    for row in rows:
        flops = "?" if row["flops"] is None else f"{row['flops'] / 1e9:.2f}"
        reached = reached_text(row["of_roof"])
        lines.append(
            f"  {_short(row):<{_NAME}}{ms(row['forward_s']):>10}{ms(row['backward_s']):>10}{row['share']:>7.0%}"
            f"{flops:>9}{row['bytes'] / 1e6:>9.1f}{row['intensity']:>8.1f}{reached:>9}"
        )
    rest = layers["rows"][most:]
    if rest or layers["left_out"]:
        count = len(rest) + layers["left_out"]
        lines.append(f"  and {count} more, {sum(row['share'] for row in rest):.0%} of the time")
    lines.append("  " + roof_text(layers["roof"]))
    if any((row["of_roof"] or 0) > 1 for row in rows):
        lines.append("  " + CACHE_NOTE)
    return lines


def reached_text(of_roof: float | None) -> str:
    """Formats the fraction of the machine's limit (roof) that a layer reaches.

    Above 1, the text is ">100%"; CACHE_NOTE explains why.
    """
    if of_roof is None:
        return ""
    return f"{of_roof:.0%}" if of_roof <= 1 else ">100%"


def roof_text(roof: RoofJson) -> str:
    """Describes the machine's limits, as in "roof: copies 21 GB/s, products fp32 92 GFLOP/s"."""
    parts = []
    if roof["bytes_per_s"]:
        parts.append(f"copies {big(roof['bytes_per_s'])}B/s")
    parts += [f"products {name} {big(rate)}FLOP/s" for name, rate in roof["flops_per_s"].items()]
    return "roof, measured: " + (", ".join(parts) or "unknown")


def big(value: float) -> str:
    for size, prefix in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
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


def _short(row: LayerJson) -> str:
    """Shortens a long layer name at its beginning, because its end is more specific."""
    text = f"{row['name']} {row['type']}" if not row["name"].startswith("(") else row["name"]
    return text if len(text) < _NAME else "..." + text[-(_NAME - 4) :]
