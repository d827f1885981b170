"""The layers in the report: roofline chart and table."""

from __future__ import annotations

from html import escape

from ...report import html_page as html
from ..doctor_json import LayerJson, LayersJson
from ..layers.layer_text import roof_text
from ..layers.roofline import roofline_chart
from .verdict_text import ms

MOST_ROWS = 40
_HEADS = ["layer", "forward", "backward", "share", "GFLOP", "MB", "FLOP/byte", "bound", "of roof"]


def layer_parts(layers: LayersJson | None, why: str = "") -> list[str]:
    """Returns the section, or the reason why there is no table."""
    if not layers:
        return ["<h2>Layers</h2>", f"<p class='soft'>No table: {escape(why)}</p>"] if why else []
    about = (
        f"Forward and backward of each module without its children, in {layers['steps']} separate steps; "
        f"{roof_text(layers['roof'])}. Larger circles take more time; the lines are the limits of this machine."
    )
    out = ["<h2>Layers</h2>", f"<p class='soft'>{escape(about)}</p>"]
    chart = roofline_chart(layers)
    if chart:
        out.append(html.card(chart, scrolls=True))
    out.append(html.grid(_HEADS, [_cells(row) for row in layers["rows"][:MOST_ROWS]]))
    more = len(layers["rows"]) - MOST_ROWS + layers["left_out"]
    if more > 0:
        out.append(f"<p class='soft'>and {more} faster layers</p>")
    return out


def _cells(row: LayerJson) -> tuple[str, ...]:
    flops = "?" if row["flops"] is None else f"{row['flops'] / 1e9:.2f}"
    return (
        f"{row['name']} {row['type']}" if not row["name"].startswith("(") else row["name"],
        ms(row["forward_s"]),
        ms(row["backward_s"]),
        f"{row['share']:.1%}",
        flops,
        f"{row['bytes'] / 1e6:.1f}",
        f"{row['intensity']:.1f}",
        f"{row['bound']} {row['precision']}".strip(),
        "" if row["of_roof"] is None else f"{row['of_roof']:.0%}",
    )
