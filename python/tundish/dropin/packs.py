"""A pack beside the files of a data set: found, or made in the background."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import weakref
from typing import Any

from .._c.errors import Error
from ..data.source import Source
from ..data.world import rank_and_world_size
from ..program import find_program
from .parts import Files
from .report import Report
from .sources import list_name, write_list

_END_S = 10.0  # that a program may take to tidy up


def path_of(files: Files, pack: str) -> str:
    return f"{files.root.rstrip('/')}.auto.tnd" if pack == "auto" else os.path.abspath(pack)


def why_not(path: str, files: Files) -> str:
    """Empty when the pack has these files: their names, order and labels, and no file is newer."""
    packed = os.stat(path).st_mtime_ns
    out = subprocess.run([find_program(), "ls", path, "--json"], capture_output=True, check=False)
    if out.returncode != 0:
        return f"{path} cannot be read: {out.stderr.decode(errors='replace').strip()}"
    rows = [json.loads(line) for line in out.stdout.splitlines()]
    if len(rows) != len(files):
        return f"{path} has {len(rows):,} samples, the data set {len(files):,}"
    for row, file, label in zip(rows, files.paths, files.labels.tolist(), strict=True):
        key = bytes.fromhex(row["key_hex"]) if "key_hex" in row else row["key"].encode()
        if row["label"] != label or not os.fsencode(file).endswith(b"/" + key):
            return f"record {row['record']:,} of {path} is {row['key']!r}, not {file!r}"
        if os.stat(file).st_mtime_ns > packed:
            return f"{file} was changed after {path} was made"
    return ""


class PackBeside:
    """Ready at once when the pack exists and fits; otherwise made by a process, and ready later.

    Of several ranks the first one makes it. A pack whose path was given is never overwritten.
    """

    def __init__(self, files: Files, pack: str, report: Report) -> None:
        self.path = path_of(files, pack)
        self._files, self._report = files, report
        self._looked_at: tuple[int, int] | None = None  # the pack that was found unfit
        self._process: Any = None
        self._folder = ""  # of what the process reads and answers
        self._end: Any = None

    def start(self, pack: str) -> Source | None:
        """The pack, or None while it is made."""
        source = self._open()
        stale = self._looked_at is not None
        if (
            source is None
            and (pack == "auto" or not stale)
            and rank_and_world_size(None, None)[0] == 0
        ):
            self._make(["--force"] if stale else [])
        return source

    def poll(self) -> Source | None:
        if self._process is not None:
            if self._process.poll() is None:
                return None
            code, self._process = self._process.returncode, None
            if code != 0:
                self._report.add_note(f"{self.path} was not made: {_error_of(self._folder)}")
            self._end()
        return self._open()

    def _open(self) -> Source | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        identity = (found.st_ino, found.st_mtime_ns)
        if identity == self._looked_at:
            return None
        problem = why_not(self.path, self._files)
        if not problem:
            try:
                return Source(self.path)
            except Error as error:
                problem = str(error)
        self._looked_at = identity
        self._report.add_note(f"the pack is not used: {problem}")
        return None

    def _make(self, words: list[str]) -> None:
        self._folder = folder = tempfile.mkdtemp(prefix="tundish-")
        listed = os.path.join(folder, list_name(self._files))
        write_list(self._files, listed)
        nice = ["nice", "-n", "10"] if shutil.which("nice") else []
        words = [*nice, find_program(), "pack", "--json", "--progress=never", *words]
        with open(os.path.join(folder, "answer"), "wb") as answer:
            self._process = subprocess.Popen(
                [*words, "--output", self.path, "--", listed],
                stdout=answer,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the training; _end_all() ends it
            )
        self._end = weakref.finalize(self, _end_all, self._process, folder)
        self._report.add_note(f"packing the files in the background into {self.path}")


def _end_all(process: Any, folder: str) -> None:
    """An interrupted pack goes on where it stopped, in the next run."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def _error_of(folder: str) -> str:
    try:
        with open(os.path.join(folder, "answer"), encoding="utf-8", errors="replace") as file:
            result = json.load(file)
    except (OSError, ValueError):
        return "the program ended early"
    if "error" in result:
        return str(result["error"]["message"])
    return f"{len(result['refused']):,} files were refused, the first: {result['refused'][0]['message']}"
