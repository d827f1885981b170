"""The file of `tundish.layers`: a page, or JSON."""

from __future__ import annotations

from html import escape
from typing import Any

from ..._c.errors import ArgumentError
from ..._cli.json_output import json_text
from ...report import html_page as html
from ...report.machine import describe, machine, versions


def layers_file(path: str, values: dict[str, Any]) -> str:
    """What is to be written to a file of that name. `values`: of Layers.as_json()."""
    about = {"machine": machine(), "versions": versions()}
    if path.endswith(".json"):
        return json_text({**values, **about})
    if not path.endswith((".html", ".htm")):
        raise ArgumentError(f"{path}: a page or JSON\n  fix: .html or .json at the end")
    from ..report.layer_section import layer_parts

    slowest = values["rows"][0]["name"] if values["rows"] else ""
    parts = [f"<h1>Layers of the model; the slowest is {escape(slowest)}</h1>"]
    parts += layer_parts({"layers": values})
    if values["findings"]:
        parts.append("<h2>Checks</h2>")
    for one in values["findings"]:
        cost = f" ({one['seconds'] * 1e3:.2f} ms of every step)" if one["seconds"] else ""
        parts += [f"<h3>{escape(one['check'])}</h3>", f"<p>{escape(one['text'] + cost)}</p>"]
        parts.append(f"<p class='soft'>{escape(one['remedy'])}</p>")
    words = ", ".join(f"{name} {value}" for name, value in about["versions"].items())
    rows = [("machine", describe(about["machine"])), ("versions", words)]
    parts += ["<h2>How it was measured</h2>", html.table(rows)]
    return html.page("tundish layers", parts)
