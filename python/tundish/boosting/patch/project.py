"""The user's files of a patch, and the folder that the diff applies to."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from ..search.results import BoostResult
from .by_hand import ByHand, insert_comment
from .code_search import call_at, node_at_line
from .diff import file_diff
from .draft import Draft
from .edits import CannotEdit
from .source_file import SourceFile


class Project:
    """Drafts of the changed files. `folder`: where the diff is applied outside a git repository."""

    def __init__(self, result: BoostResult, folder: Path) -> None:
        self.root = _git_root(folder) or folder
        self.script = os.path.realpath(result.script)
        self._digest = result.digest
        self._drafts: dict[str, Draft | CannotEdit] = {}

    def draft(self, file: str) -> Draft:
        """Returns the draft of a file. Raises CannotEdit if the file cannot be changed."""
        if file not in self._drafts:
            try:
                self._drafts[file] = self._open(file)
            except CannotEdit as error:
                self._drafts[file] = error
        draft = self._drafts[file]
        if isinstance(draft, CannotEdit):
            raise draft
        return draft

    def comment(self, found: ByHand, site: dict[str, Any]) -> bool:
        """Writes a comment above a site. Returns whether the file takes it."""
        try:
            draft = self.draft(site["file"] or self.script)
            draft.add(insert_comment(draft.source, _node(draft.source, site), found.comment()))
        except CannotEdit:
            return False
        return True

    def name_of(self, file: str) -> str:
        return Path(file).relative_to(self.root).as_posix()

    def diffs(self) -> str:
        drafts = sorted((f, d) for f, d in self._drafts.items() if isinstance(d, Draft))
        return "".join(file_diff(self.name_of(f), d.source.data, d.data()) for f, d in drafts)

    def _open(self, file: str) -> Draft:
        if not Path(file).is_relative_to(self.root):
            raise CannotEdit(f"the file is outside {self.root.name or self.root}")
        try:
            source = SourceFile(Path(file))
        except OSError as error:
            raise CannotEdit(f"the file cannot be read: {error.strerror}") from error
        except (SyntaxError, ValueError, LookupError, RecursionError) as error:
            raise CannotEdit("the file is not a Python source") from error
        if file == self.script and self._digest not in ("", _digest(source.data)):
            raise CannotEdit("the script has changed since the boost")
        return Draft(source)


def _node(source: SourceFile, site: dict[str, Any]) -> Any:
    if not site["line"]:
        return None
    try:
        return call_at(source, site)
    except (CannotEdit, KeyError):
        return node_at_line(source, site["line"])


def _git_root(folder: Path) -> Path | None:
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
