"""Runs a verb: help, arguments, errors and exit code."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._c.errors import ArgumentError, Error
from .arguments import Arguments, Options
from .error_output import UsageError, print_error
from .exit_codes import FAILED, INTERRUPTED, OK, USAGE
from .terminal import StdoutError, write_stdout

FAILURES: tuple[type[Exception], ...] = (Error, OSError)


def run_verb(
    arguments: Arguments,
    argv: Sequence[str],
    run: Callable[[Options], int],
    *,
    interrupted: str = "interrupted",
    failures: tuple[type[Exception], ...] = FAILURES,
) -> int:
    """Parses `argv`, calls `run` with the options and returns the exit code.

    `interrupted` is the message after Ctrl-C. `failures` are exceptions to print without a traceback.
    """
    own, _ = arguments.split(argv)
    as_json, no_color = "--json" in own, "--no-color" in own

    def fail(text: str, code: int) -> int:
        return print_error(text, code, as_json, no_color)

    try:
        if "--help" in own or "-h" in own:
            write_stdout(arguments.help())
            return OK
        return run(arguments.parse(argv))
    except UsageError as error:
        return fail(f"{error}\n  see: tundish help {arguments.verb}", USAGE)
    except ArgumentError as error:
        return fail(str(error), USAGE)
    except KeyboardInterrupt:
        return fail(interrupted, INTERRUPTED)
    except StdoutError as error:
        if isinstance(error.__cause__, BrokenPipeError):  # for example `tundish check src | head`
            return FAILED
        return print_error(f"standard output: {error.__cause__}", FAILED, no_color=no_color)
    except failures as error:
        return fail(str(error) or type(error).__name__, FAILED)
