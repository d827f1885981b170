"""Parses suppression comments such as `# tundish: ignore[item-in-loop]`."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass, field

from ..._c.close_name import close_name
from ..rules.static import RULES

_COMMENT = re.compile(r"(?:#|\s)\s*tundish:\s*ignore(?:\[([^\]]*)\])?", re.IGNORECASE)


@dataclass
class Suppression:
    """A suppression comment. `ids` is empty if the comment applies to all checks."""

    line: int  # line number of the comment
    on_own_line: bool  # whether the comment is alone on its line, so it applies to the next line
    ids: tuple[str, ...]
    used: set[str] = field(default_factory=set)

    def suppresses(self, check: str, first: int, last: int) -> bool:
        """Returns whether the comment applies to a finding of `check` in the lines first..last."""
        covers = first == self.line + 1 if self.on_own_line else first <= self.line <= last
        return covers and (not self.ids or check in self.ids)

    def unused_ids(self) -> tuple[str, ...] | None:
        """Returns the ids that suppressed nothing, or None if every id suppressed a finding."""
        if not self.ids:
            return None if self.used else ()
        left = tuple(check_id for check_id in self.ids if check_id not in self.used)
        return left or None


def suppressions(lines: list[str]) -> list[Suppression]:
    """Returns every suppression comment. Ignores text in strings that looks like a comment."""
    if not any("tundish:" in line for line in lines):
        return []
    found = []
    reader = io.StringIO("\n".join(lines) + "\n").readline
    try:
        for token in tokenize.generate_tokens(reader):
            match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
            if match is not None:
                ids = tuple(
                    check_id.strip() for check_id in (match[1] or "").split(",") if check_id.strip()
                )
                on_own_line = not token.line[: token.start[1]].strip()
                found.append(Suppression(token.start[0], on_own_line, ids))
    except (tokenize.TokenError, SyntaxError):  # for example at the end of a notebook cell
        pass
    return found


def unknown_check(name: str) -> str:
    """Returns an error message for an unknown check id, with a suggestion."""
    near = close_name(name, list(RULES))
    return f"no check is called {name!r}" + (f"; did you mean {near}?" if near else "")
