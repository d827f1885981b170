"""The layers in the report: the chart under the machine's roof, and the table."""

from __future__ import annotations

from html import escape
from typing import Any

from ...report import html_page as html
from ..layers.layer_text import roof_text
from ..layers.roofline import roofline_chart
from .verdict_text import ms

MOST_ROWS = 40
_HEADS = ["layer", "forward", "backward", "share", "GFLOP", "MB", "FLOP/byte", "bound", "of roof"]


def layer_parts(values: dict[str, Any]) -> list[str]:
    """Also why there is no table."""
    layers, why = values.get("layers"), values.get("layers_why")
    if not layers:
        return ["<h2>Layers</h2>", f"<p class='soft'>No table: {escape(why)}</p>"] if why else []
    about = (
        f"Forward and backward of each module without its children, in {layers['steps']} steps that are not in the figures; "
        f"{roof_text(layers['roof'])}. A larger circle takes more time; the line is what this machine can do at most."
    )
    out = ["<h2>Layers</h2>", f"<p class='soft'>{escape(about)}</p>"]
    chart = roofline_chart(layers)
    if chart:
        out.append(html.card(chart, scrolls=True))
    out.append(html.grid(_HEADS, [_cells(one) for one in layers["rows"][:MOST_ROWS]]))
    more = len(layers["rows"]) - MOST_ROWS + layers["left_out"]
    if more > 0:
        out.append(f"<p class='soft'>and {more} faster ones</p>")
    return out


def _cells(one: dict[str, Any]) -> tuple[str, ...]:
    flops = "?" if one["flops"] is None else f"{one['flops'] / 1e9:.2f}"
    return (
        f"{one['name']} {one['type']}" if not one["name"].startswith("(") else one["name"],
        ms(one["forward_s"]),
        ms(one["backward_s"]),
        f"{one['share']:.1%}",
        flops,
        f"{one['bytes'] / 1e6:.1f}",
        f"{one['intensity']:.1f}",
        f"{one['bound']} {one['precision']}".strip(),
        "" if one["of_roof"] is None else f"{one['of_roof']:.0%}",
    )
