"""Checks whether a pack holds the files of a dataset: names, order, labels and bytes."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Any

from ...program import find_program
from ..accelerate_report import log
from ..changes.file_stamps import Stamps, load_stamps, save_stamps
from ..datasets.part_sources import list_name, write_list
from ..datasets.parts import Files


@dataclass(frozen=True)
class PackCheck:
    """The result of check_pack()."""

    problem: str = ""  # why the pack cannot be used, or empty
    about: str = ""  # why the pack can be used, for the report
    waits: bool = False  # whether to wait for another rank, which compares the files


def check_pack(path: str, files: Files, before: Stamps | None, may_read: bool) -> PackCheck:
    """Compares a pack with the files that it should hold.

    Trusts a file whose stamp has not changed since the file was packed or compared. Reads every other file and
    compares it byte for byte with the pack, wherever it is and whenever it was modified.

    before    stamps taken before the files were packed; None loads stamps that an earlier comparison saved beside
              the pack
    may_read  whether this process may read all files; if not, another process of this machine reads them
    """
    about, problem = _run_json("info", path)
    problem = problem or _problem_of_kind(path, about) or _problem_of_names(path, files)
    if problem:
        return PackCheck(problem)
    try:
        now = Stamps.of(files.paths)
    except OSError as error:
        return PackCheck(f"{error.filename} cannot be read: {error.strerror}")
    pack_id = str(about["id"] or "")  # a pack of several files has none
    known = before
    if known is None and pack_id:
        known = load_stamps(path, pack_id, os.stat(files.paths[0]).st_uid, len(files))
    unsure = list(range(len(files))) if known is None else known.unsure(now).tolist()
    if unsure and not may_read:
        return PackCheck(waits=True)
    if unsure:
        problem = compare_bytes(path, files, unsure) or _problem_of_stamps(files, now)
        if problem:
            return PackCheck(problem)
    if unsure or before is not None:
        saved = bool(pack_id) and save_stamps(path, pack_id, now)
    else:
        saved = True
    return PackCheck(about=_about(len(files), len(unsure), saved))


def _about(files: int, read: int, saved: bool) -> str:
    if not read:
        return "no file has changed since it was packed or compared"
    text = f"{read:,} of {files:,} files were compared byte for byte"
    return (
        text
        if saved
        else f"{text}; the result cannot be saved, because the folder of the pack is not writable"
    )


def compare_bytes(path: str, files: Files, numbers: list[int]) -> str:
    """Compares these files with their records in the pack. Returns the first difference, or an empty string."""
    log.info("tundish.accelerate: comparing %s files with %s", f"{len(numbers):,}", path)
    with tempfile.TemporaryDirectory(prefix="tundish-") as folder:
        listed = os.path.join(folder, list_name(files))
        write_list(files, listed)
        number_list = os.path.join(folder, "numbers")
        with open(number_list, "w", encoding="ascii") as out:
            out.writelines(f"{number}\n" for number in numbers)
        found, problem = _run_json("diff", listed, path, "--numbers", number_list)
    if problem:
        return problem
    schema = [text for text in found["fields"] if "field image " in text]
    if schema:
        return f"{path} has no such images: {schema[0]}"
    for row in found["changed"]:
        file = files.paths[row["samples"][0]]
        if row["unreadable"] is not None:
            return f"{file} cannot be compared with {path}: {row['unreadable'].splitlines()[0]}"
        return (
            f"{file} has other {'bytes' if row['fields'] else 'labels'} than its record in {path}"
        )
    if found["unchanged"] != len(set(numbers)):
        return f"{path} could not be compared with all files"
    return ""


def _run_json(verb: str, *arguments: str) -> tuple[Any, str]:
    """Runs a command of the program `tundish`. Returns its JSON output, or why it failed.

    Exit codes 1 and 3 of `tundish diff` mean that there are differences.
    """
    argv = [find_program(), verb, "--json", *arguments]
    out = subprocess.run(argv, capture_output=True, check=False)
    if out.returncode in ((0, 1, 3) if verb == "diff" else (0,)):
        try:
            return json.loads(out.stdout), ""
        except ValueError:
            pass
    error = out.stderr.decode(errors="replace").strip() or out.stdout.decode(errors="replace")
    return (
        None,
        f"{arguments[-1] if verb == 'diff' else arguments[0]} cannot be read: {error.strip()}",
    )


def _problem_of_kind(path: str, about: Any) -> str:
    """Returns why a pack of preprocessed images differs from the files, without reading the files."""
    if about["preprocess"] is None:
        return ""
    options = json.dumps(about["preprocess"].get("options", about["preprocess"]), sort_keys=True)
    return (
        f"{path} holds images that were changed while they were packed ({options}); "
        "pack the files without --resize, --center-crop and --reencode"
    )


def _problem_of_names(path: str, files: Files) -> str:
    argv = [find_program(), "info", path, "--list", "--json"]
    out = subprocess.run(argv, capture_output=True, check=False)
    if out.returncode != 0:
        return f"{path} cannot be read: {out.stderr.decode(errors='replace').strip()}"
    rows = [json.loads(line) for line in out.stdout.splitlines()]
    if len(rows) != len(files):
        return f"{path} has {len(rows):,} samples, the dataset {len(files):,}"
    for row, file, label in zip(rows, files.paths, files.labels.tolist(), strict=True):
        key = bytes.fromhex(row["key_hex"]) if "key_hex" in row else row["key"].encode()
        if row["label"] != label or not os.fsencode(file).endswith(b"/" + key):
            return f"record {row['record']:,} of {path} is {row['key']!r}, not {file!r}"
    return ""


def _problem_of_stamps(files: Files, before: Stamps) -> str:
    try:
        now = Stamps.of(files.paths)
    except OSError as error:
        return f"{error.filename} cannot be read: {error.strerror}"
    changed = (now.values != before.values).any(axis=1).nonzero()[0]
    return f"{files.paths[changed[0]]} was changed while it was compared" if len(changed) else ""
