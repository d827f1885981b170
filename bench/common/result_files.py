"""Reads and writes the JSON of a benchmark: for each run, the data shared by all rows, then the rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# Keys that describe the origin of a row. Rows that agree in all of these keys form one run.
ORIGIN = ("machine", "versions", "commit", "command", "data", "data_name", "data_digest")

Row = dict[str, Any]


def write_rows(path: Path, rows: list[Row]) -> None:
    """Writes rows to a file, from which read_rows() returns the same rows."""
    runs: dict[str, Row] = {}
    for row in rows:
        origin = {key: row[key] for key in ORIGIN if key in row}
        run = runs.setdefault(json.dumps(origin, sort_keys=True), {**origin, "rows": []})
        run["rows"].append({key: value for key, value in row.items() if key not in origin})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(result_text({"runs": list(runs.values())}))


def read_rows(path: Path) -> list[Row]:
    """Returns the rows in a file, each with its origin."""
    values = json.loads(path.read_text())
    if isinstance(values, list):  # an older format; ./dev bench before may compare with old commits
        return values
    return [
        {**row, **{key: value for key, value in run.items() if key != "rows"}}
        for run in values["runs"]
        for row in run["rows"]
    ]


def result_text(value: Any, indent: str = "") -> str:
    """Returns JSON with one line per element of a list and per entry of a short object."""
    return _text(value, indent) + ("" if indent else "\n")


def _text(value: Any, indent: str) -> str:
    inner = indent + " "
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        items = [
            inner + (_text(item, inner) if "rows" in item else json.dumps(item)) for item in value
        ]
        return "[\n" + ",\n".join(items) + f"\n{indent}]"
    if isinstance(value, dict) and any(isinstance(item, dict | list) for item in value.values()):
        items = [f"{inner}{json.dumps(key)}: {_text(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    return json.dumps(value)
