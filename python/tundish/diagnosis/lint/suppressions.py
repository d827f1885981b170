"""Comments that silence a finding: `# tundish: ignore[item-in-loop]`."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass, field

from ..._c.close_name import close_name
from ..rules.static import CHECKS

_COMMENT = re.compile(r"(?:#|\s)\s*tundish:\s*ignore(?:\[([^\]]*)\])?", re.IGNORECASE)


@dataclass
class Suppression:
    """ids is empty for a comment that names none and silences every check."""

    line: int  # of the comment
    alone: bool  # nothing but the comment is on its line: it is for the next line
    ids: tuple[str, ...]
    used: set[str] = field(default_factory=set)

    def silences(self, check: str, first: int, last: int) -> bool:
        """Whether it is for a finding of these lines; a comment above, or on one of them."""
        covers = first == self.line + 1 if self.alone else first <= self.line <= last
        return covers and (not self.ids or check in self.ids)

    def unused(self) -> tuple[str, ...] | None:
        """The ids that silenced nothing; None if the whole comment was of use."""
        if not self.ids:
            return None if self.used else ()
        left = tuple(one for one in self.ids if one not in self.used)
        return left or None


def suppressions(lines: list[str]) -> list[Suppression]:
    """Every such comment. Text in strings does not count."""
    if not any("tundish:" in line for line in lines):
        return []
    found = []
    reader = io.StringIO("\n".join(lines) + "\n").readline
    try:
        for token in tokenize.generate_tokens(reader):
            match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
            if match is not None:
                ids = tuple(one.strip() for one in (match[1] or "").split(",") if one.strip())
                alone = not token.line[: token.start[1]].strip()
                found.append(Suppression(token.start[0], alone, ids))
    except (tokenize.TokenError, SyntaxError):  # the end of a notebook's cell, at worst
        pass
    return found


def unknown_check(name: str) -> str:
    """What to say of an id that no check has."""
    near = close_name(name, list(CHECKS))
    return f"no check is called {name!r}" + (f"; did you mean {near}?" if near else "")
