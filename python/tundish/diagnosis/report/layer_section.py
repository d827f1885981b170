"""Writes the section of the HTML report on layers: a roofline chart and a table."""

from __future__ import annotations

from html import escape

from ...report import html_page as html
from ..doctor_json import LayerJson, LayersJson
from ..layers.layer_text import CACHE_NOTE, reached_text, roof_text
from ..layers.roofline import roofline_chart
from ..phrases import count_text
from .verdict_text import ms

MOST_ROWS = 40
SHOWN_ROWS = 8  # further rows are folded
_HEADS = ["layer", "forward", "backward", "share", "GFLOP", "MB", "FLOP/byte", "bound", "of roof"]


def layer_parts(layers: LayersJson | None, why: str = "") -> list[str]:
    """Returns the section as HTML, or the reason why there is no table."""
    if not layers:
        return ["<h2>Layers</h2>", f"<p class='soft'>No table: {escape(why)}</p>"] if why else []
    about = (
        f"Forward and backward of each module without its children, in {layers['steps']} separate steps; "
        f"{roof_text(layers['roof'])}. Larger circles take more time, and the slowest layers are orange; the lines are "
        f"the limits of this machine. {CACHE_NOTE}"
    )
    out = ["<h2>Layers</h2>", f"<p class='soft'>{escape(about)}</p>"]
    chart = roofline_chart(layers)
    if chart:
        out.append(html.card(chart, scrolls=True))
    rows = layers["rows"][:MOST_ROWS]
    out.append(html.grid(_HEADS, [_cells(row) for row in rows[:SHOWN_ROWS]]))
    more = len(layers["rows"]) - len(rows) + layers["left_out"]
    rest = html.grid(_HEADS, [_cells(row) for row in rows[SHOWN_ROWS:]])
    if more > 0:
        rest += f"<p class='soft'>and {count_text(more, 'faster layer')}</p>"
    if len(rows) > SHOWN_ROWS:
        title = f"{count_text(len(rows) - SHOWN_ROWS, 'more layer')}, slowest first"
        out.append(html.folded(title, rest))
    elif more > 0:
        out.append(f"<p class='soft'>and {count_text(more, 'faster layer')}</p>")
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
        reached_text(row["of_roof"]),
    )
