"""Writes the result of `tundish.layers` as an HTML page or JSON."""

from __future__ import annotations

from html import escape

from ..._c.errors import ArgumentError
from ..._cli.json_output import json_text
from ...report import html_page as html
from ...report.machine import describe, machine, versions
from ..doctor_json import LayersReportJson


def layers_file(path: str, values: LayersReportJson) -> str:
    """Returns the contents of the file, in the format of its extension.

    `values` is the result of Layers.as_json().
    """
    about = {"machine": machine(), "versions": versions()}
    if path.endswith(".json"):
        return json_text({**values, **about})
    if not path.endswith((".html", ".htm")):
        raise ArgumentError(
            f"{path}: not an HTML or JSON file name\n  fix: end the name with .html or .json"
        )
    from .layer_section import layer_parts

    slowest = values["rows"][0]["name"] if values["rows"] else ""
    parts = [f"<h1>Layers of the model; the slowest is {escape(slowest)}</h1>"]
    parts += layer_parts(values)
    if values["findings"]:
        parts.append("<h2>Checks</h2>")
    for finding in values["findings"]:
        cost = f" ({finding['seconds'] * 1e3:.2f} ms of every step)" if finding["seconds"] else ""
        parts += [
            f"<h3>{escape(finding['check'])}</h3>",
            f"<p>{escape(finding['text'] + cost)}</p>",
        ]
        parts.append(f"<p class='soft'>{escape(finding['fix'])}</p>")
    version_list = ", ".join(f"{name} {value}" for name, value in about["versions"].items())
    rows = [("machine", describe(about["machine"])), ("versions", version_list)]
    parts += ["<h2>How it was measured</h2>", html.table(rows)]
    return html.page("tundish layers", parts)
