"""Exit codes of all verbs. src/cli/shell.h has the same codes."""

from __future__ import annotations

OK, FAILED, USAGE, DAMAGED, INTERRUPTED = 0, 1, 2, 3, 130
