"""Runs code under the write guard of `tundish boost`, and records a folder to compare it later."""

import os
import subprocess
import sys
from pathlib import Path

from tundish.boosting.trials.write_guard import guard_variables


class Guarded:
    """A trial in `folder`/trial. The user's folder is `folder`/users."""

    def __init__(self, folder: Path):
        self.users, self.trial = folder / "users", folder / "trial"
        self.users.mkdir()
        self.trial.mkdir()

    def environment(self, **more: str) -> dict[str, str]:
        variables = {**os.environ, **guard_variables(self.trial, self.trial), **more}
        return {name: value for name, value in variables.items() if name != "PYTEST_CURRENT_TEST"}

    def run(self, *command: object, cwd: Path | None = None) -> str:
        """Returns stdout. The command must succeed."""
        ended = subprocess.run(
            [str(word) for word in command],
            env=self.environment(),
            cwd=cwd or self.users,
            capture_output=True,
            text=True,
            errors="surrogateescape",
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def python(self, code: str, *arguments: object, cwd: Path | None = None) -> str:
        return self.run(sys.executable, "-c", code, *arguments, cwd=cwd)


def recorded(folder: Path) -> dict[bytes, tuple]:
    """Returns everything about a folder that a program could change, apart from times of reading."""
    found = {}
    for top, folders, files in os.walk(os.fsencode(folder)):
        for name in [b".", *folders, *files]:
            path = os.path.join(top, name)
            found[path] = _about(path)
    return found


def _about(path: bytes) -> tuple:
    status = os.lstat(path)
    content = b""
    if os.path.islink(path):
        content = os.readlink(path)
    elif os.path.isfile(path) and status.st_size < 1 << 24:
        content = Path(os.fsdecode(path)).read_bytes()
    numbers = (status.st_mode, status.st_uid, status.st_gid, status.st_ino, status.st_nlink)
    return (*numbers, status.st_size, status.st_mtime_ns, status.st_ctime_ns, content)
