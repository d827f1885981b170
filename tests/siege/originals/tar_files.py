"""Random tar archives written by tarfile, grouped into samples by the package webdataset."""

from __future__ import annotations

import io
import random
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
from webdataset.tariterators import group_by_keys, tar_file_iterator

from tests.siege.originals.case import Case
from tests.siege.originals.values import png

FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)


def make(draw: random.Random, folder: Path) -> Case:
    count, kinds = (
        draw.choice((1, 2, 5)),
        draw.sample(("txt", "json", "bin", "a.txt"), draw.randint(0, 2)),
    )
    labeled, long = draw.random() < 0.7, "n" * draw.choice((0, 0, 90, 150))
    path, form = folder / "shard-000000.tar", draw.choice(FORMATS)
    pixels = []
    with tarfile.open(path, "w", format=form) as archive:
        for number in range(count):
            name = f"{'set/' if form == tarfile.USTAR_FORMAT or not long else ''}{long[:80] if form == tarfile.USTAR_FORMAT else long}{number:04d}"
            coded, shown = png(draw)
            pixels.append(shown)
            parts = {"png": coded, **{kind: _content(draw, kind) for kind in kinds}}
            if labeled:
                parts["cls"] = str(draw.randrange(30)).encode()
            mixed = list(parts.items())
            draw.shuffle(mixed)
            for kind, content in mixed:
                member = tarfile.TarInfo(f"{name}.{kind}")
                member.size, member.mtime = len(content), draw.choice((0, 1.5, 2**33))
                if form == tarfile.USTAR_FORMAT:
                    member.mtime = 0
                archive.addfile(member, io.BytesIO(content))
    with path.open("rb") as file:
        members = ({**one, "__url__": path.name} for one in tar_file_iterator(file))
        samples = list(group_by_keys(members))
    fields: dict[str, Any] = {"image": pixels}
    if labeled:
        fields["label"] = [np.int64(one["cls"]) for one in samples]
    elif name.startswith("set/"):  # without .cls files, folders are classes
        fields["label"] = [np.int64(0)] * count
    for kind in kinds:
        content = [one[kind] for one in samples]
        fields[kind] = content if kind == "bin" else [one.decode() for one in content]
    return Case(path, fields, about=f"{count} format {form} {kinds} {len(long)}")


def _content(draw: random.Random, kind: str) -> bytes:
    if kind == "bin":
        return b"\xff" + draw.randbytes(draw.choice((1, 511, 512, 1500)))
    return draw.choice(("{}", '{"a": "ä"}', "text\n" * 200)).encode()
