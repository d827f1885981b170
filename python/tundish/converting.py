"""`tundish.convert`: the command `tundish convert` as a Python function."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from ._c.errors import Error, new_error
from .data.data_source import DataSource
from .packing import Path, _error, _flags, _run, _run_showing
from .program import find_program
from .progress import ProgressLine, in_notebook


def convert(
    source: Path,
    output: str | os.PathLike[str],
    to: str,
    *,
    progress: bool | Callable[[dict[str, int]], object] | None = None,
    shards: int = 1,
    force: bool = False,
    skip_bad: bool = False,
) -> dict[str, Any]:
    """Converts a dataset to a format that other programs can read. Returns the result as a dict.

    source    a pack, any other dataset in docs/sources.md, or a tundish.DataSource
    output    the file or folder to write; it appears when it is complete (a folder of files fills file by file)
    to        "folder", "tar", "tfrecord", "lmdb", "hdf5" or "npy" (docs/pack.md)
    progress  as in tundish.pack
    shards    number of files to divide the samples among, for "tar" and "tfrecord"
    force     replace existing files
    skip_bad  accept that some samples could not be written; otherwise raise tundish.Error after writing the others

    Encoded images keep their bytes, and the images of a pack become the original files again. Arrays keep their
    values. The result has the same keys as `tundish convert --json`.
    """
    terminal = os.isatty(2)
    if progress is None:
        progress = terminal or in_notebook()
    options = {"to": to, "shards": shards, "force": force, "skip_bad": skip_bad}
    argv = [find_program(), "convert", "--json", *_flags(options)]
    argv += source.argv() if isinstance(source, DataSource) else []
    argv += ["--output", os.fspath(output), "--", os.fspath(source)]
    if callable(progress):
        code, out, messages = _run_showing(argv, progress, {})
    elif progress and (in_notebook() or not terminal):
        line = ProgressLine(sys.stderr, redraw=in_notebook(), label="converting")
        try:
            code, out, messages = _run_showing(argv, line, {})
        finally:
            line.end()
    else:
        argv.insert(2, f"--progress={'auto' if progress else 'never'}")
        code, out, messages = _run(argv, {})
    try:
        result = dict(json.loads(out))
    except ValueError:
        raise Error(
            f"tundish convert ended with {code} and no result: {messages.strip()}"
        ) from None
    if "error" in result:
        raise _error(result["error"])
    if code != 0:
        raise _refusal(result)
    return result


def _refusal(result: dict[str, Any]) -> Error:
    """Returns the error for samples that could not be written."""
    refused = result["refused"]
    text = (
        f"{refused[0]['message']}\n  {len(refused):,} such samples were left out of {result['output']}, "
        f"which has the other {result['samples']:,}; skip_bad=True accepts that"
    )
    return new_error(int(refused[0]["code"].removeprefix("TND-")), text)
