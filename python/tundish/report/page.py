"""One HTML page that needs no other file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_STYLE = """
body { margin: 0; background: #f8fafc; color: #1e293b;
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 860px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 27px; line-height: 1.25; margin: 0 0 6px; }
h2 { font-size: 18px; margin: 40px 0 10px; }
h3 { font-size: 15px; margin: 20px 0 4px; }
p { margin: 8px 0; }
.soft { color: #64748b; font-size: 14px; }
.card { background: #fff; border: 1px solid #e2e8f0; border-radius: 10px; padding: 20px 20px 12px; margin: 20px 0; }
svg { display: block; width: 100%; height: auto; }
pre { background: #0f172a; color: #e2e8f0; border-radius: 10px; padding: 16px 20px; overflow-x: auto;
      font: 13.5px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
table { border-collapse: collapse; font-size: 14px; width: 100%; }
td, th { padding: 5px 12px 5px 0; vertical-align: top; border-bottom: 1px solid #e2e8f0; text-align: left; }
td:first-child { color: #64748b; white-space: nowrap; }
"""


def page(title: str, parts: Sequence[str]) -> str:
    """`parts` are HTML: headings, paragraphs, charts as card(), table()."""
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def card(svg: str) -> str:
    """A chart with a frame around it."""
    return f"<div class='card'>{svg}</div>"


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Two columns: a word, and what there is to say."""
    cells = "".join(
        f"<tr><td>{escape(word)}</td><td>{escape(text)}</td></tr>" for word, text in rows
    )
    return f"<table>{cells}</table>"


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a line of heads."""
    head = "".join(f"<th>{escape(word)}</th>" for word in heads)
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(text: str) -> str:
    """Figures are not broken over lines, sentences are."""
    short = " style='white-space: nowrap'" if len(text) < 26 else ""
    return f"<td{short}>{escape(text)}</td>"
