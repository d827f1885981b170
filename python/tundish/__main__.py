"""`python -m tundish VERB ...`: the same as the program `tundish`.

The program is C++; the parts that need PyTorch are here, and the program calls them.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from types import ModuleType

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
    """Runs one verb and returns its exit code, 130 after Ctrl-C."""
    try:
        return _run(words)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(words: list[str]) -> int:
    if words and words[0] in _VERBS and not is_for_program(words):
        module, function = _VERBS[words[0]]
        verb = getattr(_import_or_exit(module), function)
        return int(verb(words[1:]))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked by the program
    try:
        program = find_program()
    except MissingError as error:
        raise SystemExit(f"tundish: {error}") from None
    os.execv(program, [program, *words])


def _import_or_exit(module: str) -> ModuleType:
    """Imports a verb's module; Ctrl-C meanwhile ends the process.

    An exception would not do: Python wraps a KeyboardInterrupt raised in __set_name__ in a RuntimeError.
    """
    raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if raises:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # blocked by the program
    imported = importlib.import_module(module)
    if raises:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return imported


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
