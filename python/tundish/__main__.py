"""`python -m tundish VERB ...`: the same as the program `tundish`.

The program is C++; the parts that need PyTorch are here, and the program calls them.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys

from ._c.errors import MissingError
from .program import find_program

# The verbs that are written in Python: module and function. src/cli/main.cpp lists them too.
_VERBS = {
    "check": ("tundish.diagnosis.checking.cli", "main"),
    "compare": ("tundish.diagnosis.doctor.compare_cli", "main"),
    "demo-page": ("tundish.demo", "run"),  # how the program's own demo goes on
    "doctor": ("tundish.diagnosis.doctor.cli", "main"),
    "run": ("tundish.launch.cli", "main"),
    "tune": ("tundish.tuning.cli", "main"),
}
INTERRUPTED = 130


def is_for_program(words: list[str]) -> bool:
    """`doctor --env` looks at the machine, which is C++."""
    ours = words[: words.index("--")] if "--" in words else words
    return ours[:1] == ["doctor"] and "--env" in ours


def main(words: list[str]) -> int:
    """The exit code. Ctrl-C in the imports of a verb, which has no words of its own for it, is 130."""
    try:
        # The program holds Ctrl-C back until here.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return _run(words)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(words: list[str]) -> int:
    if words and words[0] in _VERBS and not is_for_program(words):
        module, function = _VERBS[words[0]]
        return int(getattr(importlib.import_module(module), function)(words[1:]))
    try:
        program = find_program()
    except MissingError as error:
        raise SystemExit(f"tundish: {error}") from None
    os.execv(program, [program, *words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
