"""Random lists written by Python's csv module."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import numpy as np

from tests.siege.originals.case import Case
from tests.siege.originals.values import png

TEXTS = (
    "plain",
    "with, comma",
    'a "quote"',
    "two\nlines",
    "ä 日本",
    " blank ",
    "x",
    "00123",
    "+1",
    "tab\there",
)


def make(draw: random.Random, folder: Path) -> Case:
    count, tabs = draw.choice((1, 2, 5, 9)), draw.random() < 0.3
    pixels, names = [], []
    for number in range(count):
        coded, shown = png(draw)
        names.append(f"{draw.choice(('a', 'b c', 'ä'))}/{number}.png")
        (folder / names[-1]).parent.mkdir(exist_ok=True)
        (folder / names[-1]).write_bytes(coded)
        pixels.append(shown)
    table: dict[str, list[str]] = {draw.choice(("path", "file", "filename", "image")): names}
    fields: dict[str, Any] = {"image": pixels}
    classes = None
    if draw.random() < 0.7:
        words = [draw.choice(("dog", "cat", "ä b")) for _ in range(count)]
        whole = draw.random() < 0.5
        table["label"] = [str(draw.randrange(9)) for _ in range(count)] if whole else words
        classes = None if whole else sorted(set(words), key=str.encode)
        read = table["label"]
        fields["label"] = [np.int64(one if whole else (classes or []).index(one)) for one in read]
    for name in draw.sample(("note", "Größe", "a b"), draw.randint(0, 2)):
        if draw.random() < 0.5:
            numbers = [draw.choice((0, 3, -7, 0.5, 1e-3, 123456.25)) for _ in range(count)]
            table[name] = [repr(one) for one in numbers]
            fields[name] = [np.float64(one) for one in numbers]
        else:
            table[name] = [draw.choice(TEXTS) for _ in range(count)]
            fields[name] = table[name]
    path = folder / ("list.tsv" if tabs else "list.csv")
    quoting = draw.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    columns = list(table)
    draw.shuffle(columns)
    with path.open("w", newline="", encoding="utf-8") as file:
        end = draw.choice(("\n", "\r\n"))
        writer = csv.writer(
            file, delimiter="\t" if tabs else ",", quoting=quoting, lineterminator=end
        )
        writer.writerow(columns)
        writer.writerows(zip(*[table[name] for name in columns], strict=True))
    return Case(path, fields, keys=names, classes=classes, about=f"{table} tabs={tabs} {quoting}")
