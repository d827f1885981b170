"""Whether a pack holds the files of a data set: their names, order, labels and bytes."""

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
class Verdict:
    """Why a pack cannot be used, or how it is known that it can."""

    problem: str = ""
    about: str = ""  # for the report, of a pack that can be used
    waits: bool = False  # another rank compares the files


def check_pack(path: str, files: Files, before: Stamps | None, may_read: bool) -> Verdict:
    """Compares a pack with the files that it should hold.

    A file whose stamp is the one that it had when it was packed, or compared before, is trusted. Every other file is read and compared
    byte for byte with the pack, wherever it is now and whatever its times are.

    before    stamps from before the files were packed; None: those of an earlier comparison count, which are saved beside the pack
    may_read  whether this process may read all files; another one of the machine does otherwise
    """
    about, problem = _json_of("info", path)
    problem = problem or _problem_of_kind(path, about) or _problem_of_names(path, files)
    if problem:
        return Verdict(problem)
    try:
        now = Stamps.of(files.paths)
    except OSError as error:
        return Verdict(f"{error.filename} cannot be read: {error.strerror}")
    pack_id = str(about["id"] or "")  # several files have none
    known = before
    if known is None and pack_id:
        known = load_stamps(path, pack_id, os.stat(files.paths[0]).st_uid, len(files))
    unsure = list(range(len(files))) if known is None else known.unsure(now).tolist()
    if unsure and not may_read:
        return Verdict(waits=True)
    if unsure:
        problem = compare_bytes(path, files, unsure) or _problem_of_stamps(files, now)
        if problem:
            return Verdict(problem)
    if unsure or before is not None:
        saved = bool(pack_id) and save_stamps(path, pack_id, now)
    else:
        saved = True
    return Verdict(about=_about(len(files), len(unsure), saved))


def _about(files: int, read: int, saved: bool) -> str:
    if not read:
        return "no file has changed since it was packed or compared"
    text = f"{read:,} of {files:,} files were compared byte for byte"
    return text if saved else f"{text}, and will be again: nothing can be written beside the pack"


def compare_bytes(path: str, files: Files, numbers: list[int]) -> str:
    """Reads these files and their records. Returns the first difference, or nothing."""
    log.info("tundish.accelerate: comparing %s files with %s", f"{len(numbers):,}", path)
    with tempfile.TemporaryDirectory(prefix="tundish-") as folder:
        listed = os.path.join(folder, list_name(files))
        write_list(files, listed)
        wanted = os.path.join(folder, "numbers")
        with open(wanted, "w", encoding="ascii") as out:
            out.writelines(f"{number}\n" for number in numbers)
        found, problem = _json_of("diff", listed, path, "--numbers", wanted)
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


def _json_of(verb: str, *words: str) -> tuple[Any, str]:
    """Returns what a verb of the program prints, or why it failed. Exit codes 1 and 3 of diff are differences."""
    argv = [find_program(), verb, "--json", *words]
    out = subprocess.run(argv, capture_output=True, check=False)
    if out.returncode in ((0, 1, 3) if verb == "diff" else (0,)):
        try:
            return json.loads(out.stdout), ""
        except ValueError:
            pass
    error = out.stderr.decode(errors="replace").strip() or out.stdout.decode(errors="replace")
    return None, f"{words[-1] if verb == 'diff' else words[0]} cannot be read: {error.strip()}"


def _problem_of_kind(path: str, about: Any) -> str:
    """A pack of preprocessed images never has the bytes of the files: no file needs to be read to know it."""
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
        return f"{path} has {len(rows):,} samples, the data set {len(files):,}"
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
