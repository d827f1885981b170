"""`python -m tundish VERB ...` runs the program `tundish`.

A verb is a subcommand, such as `pack` or `doctor`. The program is written in C++ and calls this module for the verbs
that are written in Python.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from types import ModuleType

from ._c.errors import MissingError
from ._cli.error_output import print_error
from ._cli.exit_codes import FAILED, INTERRUPTED
from ._cli.terminal import replace_closed_streams
from .program import find_program

# Verbs written in Python: module and function. src/cli/main.cpp lists them too.
_VERBS = {
    "boost": ("tundish.boosting.cli.boost_verb", "main"),
    "check": ("tundish.diagnosis.cli.check_verb", "main"),
    "demo-page": ("tundish.demo", "main"),  # second half of `tundish demo`, whose first half is C++
    "doctor": ("tundish.diagnosis.cli.doctor_verb", "main"),
    "run": ("tundish.launch.run_verb", "main"),
    "tune": ("tundish.tuning.cli.tune_verb", "main"),
}


def main(argv: list[str]) -> int:
    """Runs a verb and returns its exit code, which is 130 after Ctrl-C."""
    replace_closed_streams()
    try:
        return _run(argv)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(argv: list[str]) -> int:
    if argv and argv[0] in _VERBS:
        module, function = _VERBS[argv[0]]
        verb = getattr(_import_or_exit(module), function)
        return int(verb(argv[1:]))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # the C++ program blocked it
    try:
        program = find_program()
    except MissingError as error:
        return print_error(str(error), FAILED)
    os.execv(program, [program, *argv])


def _import_or_exit(module: str) -> ModuleType:
    """Imports a verb's module. Ctrl-C during the import ends the process.

    Catching KeyboardInterrupt is not enough, because Python turns it into a RuntimeError if it is raised in
    __set_name__.
    """
    raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if raises:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # the C++ program blocked it
    imported = importlib.import_module(module)
    if raises:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return imported


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
