"""Reads the walks through the code in a page of docs/internals, to compare them with paths.json."""

import re


def section(page, title):
    return page.split(f"\n## {title}\n")[1].split("\n## ")[0]


def blocks(text):
    """Returns [function, file] for each line below a step of the walk, by step."""
    out, step = {}, None
    for line in text.splitlines():
        if named := re.match(r"\*\*([\w ]+)\*\*:", line):
            step = named[1]
        elif row := re.match(r" {4}(\S+) +((?:src|python)/\S+)", line):
            out.setdefault(step, []).append([row[1], row[2]])
    return out


def is_part_of(rows, frames):
    """Returns whether the frames contain the rows in this order. The last row must be the last frame."""
    rest = iter(frames)
    return all(row in rest for row in rows) and rows[-1] == frames[-1]


def missing_functions(frames, root):
    """Returns the functions that no longer exist in their files."""
    wanted = {(re.split(r"::|\.", function)[-1], file) for function, file in frames}
    return [
        f"{name} in {file}"
        for name, file in sorted(wanted)
        if not re.search(rf"\b{name}\(", (root / file).read_text())
    ]
