"""Wraps the prose of Markdown pages: tundish explain --all | .venv/bin/python tools/wrapped.py

tests/project/test_line_lengths.py defines the limit. Tables, code, headings and pictures do not change,
and neither do paragraphs whose lines are short enough.
"""

from __future__ import annotations

import re
import sys

WIDTH = 100
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
UNWRAPPED = re.compile(r"\s*(?:\||#|!\[|```|<!--|>)|`[^`]*`$")
# A line that begins with one of these would become a list item, a heading, a quote or a table.
OPENING = re.compile(r"(?:[-+*]|\d+[.)]|[|#>].*)$")
CODE_SPAN = 80  # longer code spans may be split at a space


def is_long(line: str) -> bool:
    """Returns whether a line is too long. The target of a link does not count."""
    return len(re.sub(r"\]\([^)]*\)", "]", line)) > WIDTH


def words_of(text: str) -> list[str]:
    """Splits a paragraph at spaces outside code spans."""
    kept = re.sub(
        r"`[^`]*`",
        lambda span: span[0].replace(" ", "\0") if len(span[0]) < CODE_SPAN else span[0],
        text,
    )
    return [word.replace("\0", " ") for word in kept.split()]


def wrapped(text: str, first: str = "", rest: str = "") -> str:
    """Wraps a paragraph at 100 characters. The first line begins with `first`, other lines with `rest`."""
    lines = [first]
    for word in words_of(text):
        line = lines[-1]
        begins = line in (first, rest)
        if not begins and is_long(f"{line} {word}") and not OPENING.match(word):
            lines.append(rest + word)
        else:
            lines[-1] = line + word if begins else f"{line} {word}"
    return "\n".join(lines)


def wrapped_block(lines: list[str]) -> str:
    if not any(is_long(line) for line in lines):
        return "\n".join(lines)
    item = ITEM.match(lines[0])
    first = item[0] if item else re.match(r"\s*", lines[0])[0]
    text = " ".join([lines[0][len(first) :], *lines[1:]])
    return wrapped(text, first, " " * len(first))


def wrapped_page(text: str) -> str:
    """Wraps all paragraphs and list items of a page."""
    done: list[str] = []
    block: list[str] = []
    is_code = False

    def end_block() -> None:
        if block:
            done.append(wrapped_block(block))
            block.clear()

    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        is_code ^= fence
        if fence or is_code or not line.strip() or UNWRAPPED.match(line):
            end_block()
            done.append(line)
        elif not block and line.startswith("    ") and not ITEM.match(line):
            done.append(line)  # indented code
        else:
            if ITEM.match(line):
                end_block()
            block.append(line)
    end_block()
    return "\n".join(done) + "\n"


if __name__ == "__main__":
    print(wrapped_page(sys.stdin.read()), end="")
