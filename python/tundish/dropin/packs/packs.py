"""A pack of a dataset's files: an existing one, or a new one that is made in the background."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import weakref
from collections.abc import Callable
from typing import Any

from ..._c.errors import Error
from ...data.open_source import Source
from ...data.settings.world import rank_and_world_size
from ...program import find_program
from ...scratch_folder import scratch_folder
from ..accelerate_report import AccelerateReport
from ..changes.file_stamps import Stamps, stamps_path
from ..datasets.part_sources import list_name, write_list
from ..datasets.parts import Files
from ..reasons import NotTranslated
from .pack_contents import PackCheck, check_pack

_END_S = 10.0  # time limit for the program `tundish` to clean up, in seconds


def path_of(files: Files, pack: str) -> str:
    return f"{files.root.rstrip('/')}.auto.tnd" if pack == "auto" else os.path.abspath(pack)


class PackBeside:
    """A pack that is ready if it exists and matches the files. Otherwise a child process makes it.

    Rank 0 makes the pack, and the first rank of each machine compares it with the files. A pack whose path the user
    gave is never overwritten. `accept` is called with the opened pack. It raises Error, ValueError or NotTranslated
    if the pack would yield different batches.
    """

    def __init__(
        self, files: Files, pack: str, report: AccelerateReport, accept: Callable[[Source], None]
    ) -> None:
        self.path = path_of(files, pack)
        self.about = ""  # how it is known that the pack holds these files
        self._files, self._report, self._accept = files, report, accept
        self._rejected: Any = None  # _identity() of the pack that was rejected last
        self._before: Stamps | None = None  # stamps of the files before they were packed
        self._process: Any = None
        self._folder = ""  # folder with the input and output of the process
        self._end: Any = None

    def start(self, pack: str) -> Source | None:
        """Returns the source of the pack, or None while it is being made."""
        source = self._open()
        stale = self._rejected is not None
        if (
            source is None
            and (pack == "auto" or not stale)
            and rank_and_world_size(None, None)[0] == 0
        ):
            try:
                self._make(["--force"] if stale else [])
            except OSError as error:
                self._report.add_note(f"{self.path} is not made: {error}")
        return source

    def poll(self) -> Source | None:
        if self._process is not None:
            if self._process.poll() is None:
                return None
            code, self._process = self._process.returncode, None
            if code != 0:
                self._report.add_note(f"{self.path} was not made: {_error_of(self._folder)}")
                self._before = None
            self._end()
        return self._open()

    def _open(self) -> Source | None:
        """Opens and checks the pack, because a file may have changed since it was packed."""
        identity = _identity(self.path)
        if identity is None or identity == self._rejected:
            return None
        try:
            check = check_pack(self.path, self._files, self._before, _compares())
        except OSError as error:  # such as a full temporary folder
            check = PackCheck(f"it cannot be compared with the files: {error}")
        problem = check.problem
        if check.waits:
            self._rejected = identity
            return None
        if not problem:
            try:
                source = Source(self.path)
                again = _identity(self.path)
                if again is None or again[0] != identity[0]:
                    return None  # the pack was replaced meanwhile; the next epoch checks again
                self._accept(source)
            except (Error, ValueError, NotTranslated) as error:
                problem = str(error)
            else:
                self.about = check.about
                return source
        self._rejected, self._before = identity, None
        self._report.add_note(f"the pack is not used: {problem}")
        return None

    def _make(self, options: list[str]) -> None:
        try:
            self._before = Stamps.of(self._files.paths)
        except OSError:
            self._before = None  # `tundish pack` reports the missing file
        with contextlib.ExitStack() as scratch:
            self._folder = folder = scratch.enter_context(scratch_folder("tundish-packing-"))
            listed = os.path.join(folder, list_name(self._files))
            write_list(self._files, listed)
            nice = ["nice", "-n", "10"] if shutil.which("nice") else []
            argv = [*nice, find_program(), "pack", "--json", "--progress=never", *options]
            with open(os.path.join(folder, "answer"), "wb") as answer:
                self._process = subprocess.Popen(
                    [*argv, "--output", self.path, "--", listed],
                    stdout=answer,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C does not reach it; _end_all() ends it
                )
            self._end = weakref.finalize(self, _end_all, self._process, scratch.pop_all())
        self._report.add_note(f"packing the files in the background into {self.path}")


def _identity(path: str) -> tuple[Any, int] | None:
    """Returns values that change if the pack or its saved stamps are replaced, or None if there is no pack."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    try:
        stamps = os.stat(stamps_path(path)).st_mtime_ns
    except OSError:
        stamps = 0
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns), stamps


def _compares() -> bool:
    """Returns whether this process compares the files. Only one process per machine does."""
    if rank_and_world_size(None, None)[0] == 0:
        return True
    return os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID")) == "0"


def _end_all(process: Any, scratch: contextlib.ExitStack) -> None:
    """Interrupts a running `tundish pack`. The next run continues the pack."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    scratch.close()


def _error_of(folder: str) -> str:
    try:
        with open(os.path.join(folder, "answer"), encoding="utf-8", errors="replace") as file:
            result = json.load(file)
    except (OSError, ValueError):
        return "the program ended early"
    if "error" in result:
        return str(result["error"]["message"])
    return f"{len(result['refused']):,} files were refused, the first: {result['refused'][0]['message']}"
