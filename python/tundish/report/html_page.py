"""A self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

_STYLE = """
:root { color-scheme: light dark; --back: #f8fafc; --ink: #1e293b; --soft: #64748b; --card: #fff; --line: #e2e8f0;
        --ours: #c2410c; --others: #94a3b8; --code: #0f172a; --code-ink: #e2e8f0; }
body { margin: 0; background: var(--back); color: var(--ink);
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 860px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 27px; line-height: 1.25; margin: 0 0 6px; }
h2 { font-size: 18px; margin: 40px 0 10px; }
h3 { font-size: 15px; margin: 20px 0 4px; }
p { margin: 8px 0; }
.soft { color: var(--soft); font-size: 14px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 20px 20px 12px; margin: 20px 0; }
svg { display: block; width: 100%; height: auto; }
pre { background: var(--code); color: var(--code-ink); border-radius: 10px; padding: 16px 20px; overflow-x: auto;
      font: 13.5px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
pre b { color: #fdba74; }
.wide { overflow-x: auto; --shade: rgba(100, 116, 139, .45);
        background: linear-gradient(to right, var(--back) 40%, transparent) 0 0 / 28px 100% no-repeat local,
                    linear-gradient(to left, var(--back) 40%, transparent) 100% 0 / 28px 100% no-repeat local,
                    linear-gradient(to right, var(--shade), transparent) 0 0 / 12px 100% no-repeat scroll,
                    linear-gradient(to left, var(--shade), transparent) 100% 0 / 12px 100% no-repeat scroll; }
.card.wide { background: var(--card); }
summary { cursor: pointer; color: var(--soft); font-size: 14px; margin: 8px 0; }
.wide > svg { min-width: 640px; }
table { border-collapse: collapse; font-size: 14px; width: 100%; }
td, th { padding: 5px 12px 5px 0; vertical-align: top; border-bottom: 1px solid var(--line); text-align: left; }
td:first-child { color: var(--soft); white-space: nowrap; }
.bars { display: grid; grid-template-columns: minmax(6em, max-content) 1fr max-content; gap: 8px 12px; align-items: center;
        grid-auto-flow: row dense; font-size: 14px; margin-bottom: 8px; }
.bars .name { grid-column: 1; }
.bars .track { position: relative; height: 20px; grid-column: 2; }
.bars .value { grid-column: 3; }
.bars .track span { position: absolute; top: 0; height: 100%; min-width: 1px; border-radius: 3px; background: var(--others);
                    print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.bars .ours { font-weight: 600; }
.bars .track .ours { background: var(--ours); }
@media (max-width: 560px) {
  main { padding: 24px 14px 40px; }
  h1 { font-size: 22px; }
  .card { padding: 14px 14px 8px; }
  .bars { grid-template-columns: 1fr max-content; gap: 2px 10px; }
  .bars .track { grid-column: 1 / -1; margin-bottom: 8px; }
  .bars .value { grid-column: 2; }
  td:first-child { white-space: normal; }
  .card.wide::before { content: "scroll sideways \\2192"; display: block; position: sticky; left: 0; width: max-content;
                  color: var(--soft); font-size: 12px; }
}
@media (prefers-color-scheme: dark) {
  :root { --back: #0f172a; --ink: #e2e8f0; --soft: #94a3b8; --card: #1e293b; --line: #334155; --ours: #fb923c;
          --others: #64748b; --code: #020617; }
  svg .ground { fill: #1e293b; }
  svg text[fill='#1e293b'] { fill: #e2e8f0; }
  svg text[fill='#64748b'] { fill: #94a3b8; }
  svg line[stroke='#e2e8f0'] { stroke: #334155; }
  svg line[stroke='#1e293b'] { stroke: #e2e8f0; }
}
@media print {
  :root { --back: #fff; --ink: #000; --soft: #444; --card: #fff; --line: #ccc; --others: #94a3b8; --ours: #c2410c;
          --code: #fff; --code-ink: #000; }
  main { max-width: none; padding: 0; }
  .card, pre, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  pre { border: 1px solid #ccc; white-space: pre-wrap; }
  pre b { color: #000; }
}
"""


def page(title: str, parts: Sequence[str]) -> str:
    """Returns the page as HTML. `parts` are HTML too: headings, paragraphs, and results of card() or table()."""
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def card(svg: str, scrolls: bool = False) -> str:
    """Returns a chart in a frame. With `scrolls`, the chart stays legible on a narrow page."""
    if scrolls:
        return f"<div class='card wide' tabindex='0'>{svg}</div>"
    return f"<div class='card'>{svg}</div>"


@dataclass(frozen=True)
class BarRow:
    """One bar. `begin` and `length` are fractions of the full width."""

    name: str
    begin: float
    length: float
    text: str
    ours: bool = False


def bars(rows: Sequence[BarRow], label: str) -> str:
    """Draws horizontal bars that stay legible on a narrow page. `label`: the accessible name."""
    cells = []
    for row in rows:
        kind = " ours" if row.ours else ""
        left, width = 100 * row.begin, 100 * row.length
        cells.append(
            f"<div class='name{kind}'>{escape(row.name)}</div>"
            f"<div class='value{kind}'>{escape(row.text)}</div>"
            f"<div class='track'><span class='{kind.strip() or 'bar'}' "
            f"style='left: {left:.2f}%; width: {width:.2f}%'></span></div>"
        )
    body = "\n".join(cells)
    return f"<div class='card'><div class='bars' role='img' aria-label='{escape(label, quote=True)}'>\n{body}\n</div></div>"


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Returns a table with two columns: a name and its description."""
    cells = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in rows
    )
    return f"<table>{cells}</table>"


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table with a header row."""
    head = "".join(f"<th>{escape(title)}</th>" for title in heads)
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f"<div class='wide' tabindex='0'><table><tr>{head}</tr>{body}</table></div>"


def folded(title: str, body: str) -> str:
    """Returns HTML that is hidden until the reader opens it. `title` is text, `body` HTML."""
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def _cell(text: str) -> str:
    """Returns a table cell. Short texts, such as numbers, do not wrap."""
    short = " style='white-space: nowrap'" if len(text) < 26 else ""
    return f"<td{short}>{escape(text)}</td>"
