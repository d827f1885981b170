"""Opens the samples of a known dataset as a source of the engine."""

from __future__ import annotations

import csv
import os
import tempfile
from typing import Any

from ..._c.errors import Error
from ...data.open_source import Source
from ..reasons import not_translated
from .parts import Files, Part, Ranges

# Part of a warning in src/data/source/formats/file_list.cpp, which is not shown: a dataset may list a file twice.
_REPEATS = "name a file that an earlier row named"


def open_parts(parts: list[Part]) -> Source:
    """Opens parts as a source. Writes temporary lists or arrays, which the engine keeps open."""
    try:
        with tempfile.TemporaryDirectory(prefix="tundish-") as folder:
            sources: list[Any] = [
                _open(part, os.path.join(folder, str(n))) for n, part in enumerate(parts)
            ]
    except Error:
        raise
    except OSError as error:
        raise not_translated(
            f"the list of samples, or their arrays, cannot be written to a temporary folder: {error}",
            "set TMPDIR to a folder with enough space",
        ) from error
    return sources[0] if len(sources) == 1 else Source(sources)


def labels_of(parts: list[Part]) -> Any:
    import numpy as np

    return np.concatenate([part.labels for part in parts])


def list_name(files: Files | Ranges) -> str:
    """Returns the name of the temporary list, which error messages show."""
    if isinstance(files, Ranges):
        return "images.csv"
    return f"{os.path.basename(files.root) or 'files'}.csv"


def write_list(files: Files | Ranges, path: str) -> None:
    columns: dict[str, Any] = {"path": files.paths, "label": files.labels.tolist()}
    if isinstance(files, Ranges):
        columns |= {"path:offset": files.offsets.tolist(), "path:bytes": files.sizes.tolist()}
    with open(path, "w", newline="", encoding="utf-8", errors="surrogateescape") as out:
        rows = csv.writer(out)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))


def _open(part: Part, folder: str) -> Source:
    import numpy as np

    os.mkdir(folder)
    if isinstance(part, Files | Ranges):
        path = os.path.join(folder, list_name(part))
        write_list(part, path)
    else:
        path = os.path.join(folder, "images.npy")
        np.save(path, np.ascontiguousarray(part.pixels))
    source = Source(path)
    source.warnings = [text for text in source.warnings if _REPEATS not in text]
    if source.count != len(part):
        raise RuntimeError(f"{part.name} has {len(part):,} samples, the engine {source.count:,}")
    return source
