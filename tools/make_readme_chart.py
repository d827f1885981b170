"""Draws the chart of README.md: PYTHONPATH=. .venv/bin/python tools/make_readme_chart.py

Shows the rows in bench/results/load.json for one core. Omits variants of tundish that do another task,
and the slowest other libraries. tests/docs/test_readme.py compares the file with the output of this
tool.
"""

from __future__ import annotations

from pathlib import Path

from tundish.report.chart import Bar, bar_chart

from bench.common.result_files import read_rows

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "docs" / "charts" / "images-per-second.svg"
# Maps the contestant of a row to its name in the chart.
BARS = {
    "tundish": "Tundish, AVX-512",
    "tundish, AVX2": "Tundish, AVX2",
    "FFCV, pixels 512 px": "FFCV, raw pixels",
    "FFCV, JPEG q90 512 px": "FFCV, JPEG",
    "torch DataLoader + torchvision.io": "DataLoader, torchvision.io",
    "DALI CPU": "DALI on the CPU",
    "torch DataLoader + Pillow": "DataLoader, Pillow",
}


def rates() -> dict[str, float]:
    """Returns images per second on one core, by contestant."""
    rows = read_rows(ROOT / "bench" / "results" / "load.json")
    measured = [row for row in rows if row["metric"] == "images_per_s" and row["cores"] == 1]
    return {row["contestant"]: row["value"] for row in measured}


def chart() -> str:
    found = rates()
    bars = [
        Bar(name, found[row], f"{found[row]:,.0f}", ours=row.startswith("tundish"))
        for row, name in BARS.items()
    ]
    title = "augmented images per second on one CPU core"
    return bar_chart([(title, bars)], title, left=230)


if __name__ == "__main__":
    CHART.parent.mkdir(exist_ok=True)
    CHART.write_text(chart())
