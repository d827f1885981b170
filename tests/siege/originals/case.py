"""A random file and the samples that its original library reads from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Case:
    """A file and what Tundish must read from it.

    path      the file or folder to open
    fields    values of each field by name; an array with one entry per sample, or a list
    options   arguments of tundish.DataSource
    loader    arguments of tundish.Loader
    keys      names of the samples; None: not compared
    classes   names of the classes; None: not compared
    about     the properties of this file, for a report
    refusals  documented reasons to refuse the whole file: (pattern of the message, reason)
    omitted   documented reasons to leave out a field, by its name
    """

    path: Path
    fields: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    loader: dict[str, Any] = field(default_factory=dict)
    keys: list[str] | None = None
    classes: list[str] | None = None
    about: str = ""
    refusals: list[tuple[str, str]] = field(default_factory=list)
    omitted: dict[str, str] = field(default_factory=dict)

    def documented(self, message: str) -> str | None:
        """Returns the documented reason for a refusal, or None if the refusal is undocumented."""
        for pattern, reason in self.refusals:
            if re.search(pattern, message, re.DOTALL):
                return reason
        return None
