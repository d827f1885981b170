"""`tundish tune`: the verb. The program runs it as `python -m tundish tune ...`.

Results on stdout, messages and progress on stderr. Exit codes: 0 done, 1 failed or slower than the
saved plan, 2 wrong use or a job that does not train, 130 interrupted with the best plan so far saved.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from .._c.errors import ArgumentError, Error
from ..report.machine import machine, versions
from .check import compare
from .cli_words import HELP, check_names, parse
from .progress import Progress, stderr_progress
from .report_text import report_text
from .time_limit import CHECK_MINUTES, limit_of

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(words: list[str]) -> int:
    """The verb with the words after it; the exit code."""
    before_end = words[: words.index("--")] if "--" in words else words
    if "--help" in before_end or "-h" in before_end:
        sys.stdout.write(HELP)
        return OK
    as_json = "--json" in before_end
    try:
        options = parse(words)
        run = _check if options.check else _find_batch_size if options.batch_size else _tune
        return run(options, words)
    except ArgumentError as error:
        return _fail(str(error), USAGE, as_json)
    except KeyboardInterrupt:
        wanted = "batch size" if "--batch-size" in before_end else "plan"
        return _fail(f"interrupted before there was a {wanted}", INTERRUPTED, as_json)
    except (Error, OSError, RuntimeError) as error:
        return _fail(str(error) or type(error).__name__, FAILED, as_json)


def _tune(options: argparse.Namespace, words: list[str]) -> int:
    _need_torch()
    output = options.output or "plan.json"
    check_names([*(options.tricks or []), *options.without], _trick_names())
    _check_output(output, options.own)
    tuner = importlib.import_module("tundish.tuning.tune")
    with _interrupts() as interrupts, _progress(options) as progress:
        more = {} if options.memory is None else {"memory_gb": options.memory}
        plan = tuner.tune(
            options.job,
            seed=options.seed,
            quick=options.quick,
            minutes=options.minutes,
            tricks=options.tricks,
            without=options.without,
            own=options.own,
            progress=progress,
            **more,
        )
    plan.report.command = shlex.join(["tundish", "tune", *words])
    plan.save(output)
    if options.html:
        from .report_page import report_page

        with open(options.html, "w", encoding="utf-8") as file:
            file.write(report_page(plan.report, plan, output))
    if options.json:
        _print_json(plan.report.as_json())
    elif not options.quiet:
        text = report_text(plan.report, _columns(), _color(sys.stdout, options), output)
        sys.stdout.write("\n" + text)
        if options.html:
            sys.stdout.write(f"  {'page':<9} {options.html}\n")
        sys.stdout.flush()
    return INTERRUPTED if interrupts else OK


def _check(options: argparse.Namespace, words: list[str]) -> int:
    _need_torch()
    from .plan import load_plan

    if not os.path.isfile(options.check):
        raise ArgumentError(f"{options.check}: no such file; --check needs a plan that was saved")
    plan = load_plan(options.check, options.own)
    tuner = importlib.import_module("tundish.tuning.tune")
    with _interrupts(), _progress(options) as progress:
        for change in plan.changes():
            progress.note(f"since the plan was saved: {change}")
        now = tuner.measure_plan(
            options.job, plan, seed=options.seed, quick=options.quick, progress=progress
        )
    now.command = shlex.join(["tundish", "tune", *words])
    limit = 3.0 if options.slower_than is None else options.slower_than
    tricks = [trick.as_json() for trick in plan.tricks]
    checked = compare(tricks, plan.report, now, limit)
    if options.json:
        _print_json(checked.as_json(now))
    elif not options.quiet:
        print(f"  {'ok' if checked.ok else 'slower':<9} {checked.text}", flush=True)
    if not checked.ok and not options.json:
        print(f"tundish: {options.check}: {checked.text}", file=sys.stderr)
    return OK if checked.ok else FAILED


def _find_batch_size(options: argparse.Namespace, words: list[str]) -> int:
    _need_torch()
    names = options.tricks or []
    check_names(names, _trick_names())
    finder = importlib.import_module("tundish.tuning.batch_size")
    from .tricks import TRICKS

    with _interrupts(), _progress(options) as progress:
        report = finder.find_batch_size(
            options.job,
            memory_cap_bytes=None if options.memory is None else int(options.memory * 2**30),
            tricks=[kind() for kind in TRICKS if kind.name in names],
            seed=options.seed,
            progress=progress,
        )
    if options.json:
        made = {"machine": machine(), "versions": versions()}
        _print_json(
            {**report.as_json(), **made, "command": shlex.join(["tundish", "tune", *words])}
        )
    elif not options.quiet:
        print(f"{report}\ndevice: {report.device}", flush=True)
    return OK


def _need_torch() -> None:
    """Imported here: help and mistakes in the words do not wait for it."""
    try:
        importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise Error("tundish tune needs PyTorch\n  fix: pip install torch") from None


def _trick_names() -> list[str]:
    from .tricks import TRICKS

    return [kind.name for kind in TRICKS]


def _check_output(path: str, own: list[str]) -> None:
    """Known before minutes are spent. A plan may be replaced by a new one, nothing else."""
    if not os.path.exists(path):
        return
    from .plan import load_plan

    try:
        load_plan(path, own)
    except (ArgumentError, OSError):
        raise ArgumentError(
            f"{path} exists and is not a plan; it stays as it is\n  fix: choose another name with -o"
        ) from None


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Ctrl-C raises KeyboardInterrupt as always; the list tells afterwards that it came."""
    came: list[int] = []

    def note(number: int, frame: Any) -> None:
        came.append(number)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread: signals are not ours
        yield came
        return
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _progress(options: argparse.Namespace) -> Iterator[Progress]:
    minutes = CHECK_MINUTES if options.check else limit_of(options.minutes, options.quick)
    progress = stderr_progress(options.quiet, None if options.batch_size else 60 * minutes)
    try:
        yield progress
    finally:
        progress.end()


def _fail(text: str, code: int, as_json: bool) -> int:
    print(f"tundish: {text}", file=sys.stderr, flush=True)
    if as_json:
        _print_json({"error": {"code": None, "message": text, "exit": code}})
    return code


def _print_json(values: dict[str, Any]) -> None:
    """Without NaN and infinity, which are not JSON."""
    json.dump(_plain(values), sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")
    sys.stdout.flush()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value


def _columns() -> int:
    return shutil.get_terminal_size(fallback=(120, 24)).columns


def _color(stream: TextIO, options: argparse.Namespace) -> bool:
    if options.no_color or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
