"""Exit codes that every verb shares, as in src/cli/shell.h."""

from __future__ import annotations

OK, FAILED, USAGE, DAMAGED, INTERRUPTED = 0, 1, 2, 3, 130
