"""The preloaded library that keeps the files of trials away from the user's (src/tools/write_guard)."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ..._c.errors import Error, MissingError

FOLDER, ALLOW = "TUNDISH_GUARD_FOLDER", "TUNDISH_GUARD_ALLOW"
# Caches that a trial may fill, as it would fill them without Tundish.
_CACHES = (
    "TRITON_CACHE_DIR",
    "CUDA_CACHE_PATH",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_HOME",
    "HF_HOME",
)
# A socket's path has at most 107 characters. torch and multiprocessing add up to 40 to TMPDIR.
_LONGEST_TEMPORARY = 64

_OVERWRITE = """
import os, sys
path = sys.argv[1]
with open(path, "w") as file:
    file.write("changed")
os.replace(path, path + ".moved")
print(open(path + ".moved").read(), os.path.exists(path))
"""


class GuardError(Error):
    """Trials could overwrite files of the user."""


def guard_library() -> str:
    """Returns the path of the library. Raises MissingError if it was not built."""
    path = Path(__file__).resolve().parents[2] / "libtundish_guard.so"
    if not path.is_file():
        raise MissingError(f"no library at {path}\n  fix: run ./dev build, or install the wheel")
    return str(path)


def guard_variables(shared: Path, folder: Path, allowed: Iterable[str] = ()) -> dict[str, str]:
    """Returns the variables that put a trial's processes under the guard.

    `shared`: a folder of all trials; `folder`: the folder of this trial; `allowed`: more folders in
    which files are written as usual.
    """
    temporary = _temporary_folder(folder)
    places: list[str | Path] = [shared, folder, temporary, *_caches(), *allowed]
    paths = [os.path.realpath(place) for place in places]
    if wrong := [path for path in paths if ":" in path]:
        raise GuardError(
            f"the path {wrong[0]} has a colon, which separates folders\n"
            "  fix: set TMPDIR, or the variable of this cache, to another folder"
        )
    return {
        "LD_PRELOAD": _with_existing(_loadable(shared)),
        FOLDER: os.path.join(os.path.realpath(folder), "written"),
        ALLOW: ":".join(dict.fromkeys(paths)),
        "TMPDIR": temporary,
    }


def check_guard(python: list[str], shared: Path) -> None:
    """Raises GuardError if `python`, the beginning of a command, can overwrite a file under the guard.

    The loader ignores LD_PRELOAD for statically linked programs and for those with more rights than
    their user.
    """
    with tempfile.TemporaryDirectory(prefix="guard-", dir=shared) as name:
        root = Path(os.path.realpath(name))
        file = root / "users" / "file"
        file.parent.mkdir()
        file.write_text("kept")
        trial = root / "trial"
        trial.mkdir()
        variables = {**os.environ, **guard_variables(trial, trial)}
        command = [*python, "-c", _OVERWRITE, str(file)]
        try:
            ended = subprocess.run(
                command, env=variables, capture_output=True, text=True, timeout=120, cwd=trial
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GuardError(
                f"{python[0]} could not be tried under the write guard: {error}"
            ) from error
        if list(file.parent.iterdir()) != [file] or file.read_text() != "kept":
            raise GuardError(
                f"{python[0]} ignores the write guard, so trials could overwrite your files\n"
                "  fix: use a Python that is linked dynamically and needs no special rights"
            )
        if ended.returncode != 0 or ended.stdout.split() != ["changed", "False"]:
            lines = (ended.stderr or ended.stdout).strip().splitlines()
            last = lines[-1] if lines else f"exit code {ended.returncode}"
            raise GuardError(f"{python[0]} does not work under the write guard: {last}")


def python_of(command: list[str]) -> list[str]:
    """Returns the Python that a command starts, as the beginning of a command line."""
    path = shutil.which(command[0]) or command[0]
    if os.path.basename(path).startswith("python"):
        return [path]
    try:
        with open(path, "rb") as file:
            words = os.fsdecode(file.readline(4096)).removeprefix("#!").split()
    except OSError:
        words = []
    if words and os.path.basename(words[0]) == "env":
        words = [shutil.which(words[-1]) or words[-1]]
    return words[:1] if words and "python" in os.path.basename(words[0]) else [sys.executable]


def _caches() -> list[str]:
    home = os.path.expanduser("~")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    named = [value for name in _CACHES if (value := os.environ.get(name))]
    return [cache, os.path.join(home, ".triton"), os.path.join(home, ".nv"), *named]


def _with_existing(library: str) -> str:
    before = os.environ.get("LD_PRELOAD", "")
    return f"{library}:{before}" if before else library


def _loadable(shared: Path) -> str:
    """Returns a path of the library without spaces and colons, which separate those of LD_PRELOAD."""
    library = guard_library()
    if not set(" :") & set(library):
        return library
    link = shared / "libtundish_guard.so"
    if set(" :") & set(str(link)):
        raise GuardError(
            f"the path {link} has a space\n  fix: set TMPDIR to a folder without spaces"
        )
    if not link.is_symlink():
        link.symlink_to(library)
    return str(link)


def _temporary_folder(folder: Path) -> str:
    path = os.path.join(os.path.realpath(folder), "tmp")
    if len(os.fsencode(path)) > _LONGEST_TEMPORARY:
        return tempfile.mkdtemp(dir=_short_folder())
    os.makedirs(path, exist_ok=True)
    return path


@functools.cache
def _short_folder() -> str:
    path = tempfile.mkdtemp(prefix="tundish-", dir="/tmp")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
