"""Declares the arguments of a verb. argparse parses them, and this module writes the help text."""

from __future__ import annotations

import argparse
import copy
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from .._c.close_name import close_name
from .error_output import UsageError
from .renamed import RENAMED_OPTIONS

WIDTH = 80  # width of the help text in columns
NAMES = 22  # width of the option names in columns
Options = argparse.Namespace


@dataclass(frozen=True)
class VerbHelp:
    """Help text of a verb, apart from its options. Paragraphs are wrapped; indented lines are kept."""

    verb: str  # name, including the sub-verb if there is one: "doctor compare"
    usage: str  # the text after the verb, with one line per way to call the verb
    examples: str  # one per line, the simplest first
    text: str  # what the verb does
    json: str  # keys of the object that --json prints
    exit_codes: str
    after: str = ""  # paragraph that follows the options
    json_about: str = "print JSON on stdout, for programs"
    quiet_about: str = "print errors only"


@dataclass(frozen=True)
class _Positional:
    name: str
    target: str
    missing: str  # error message if the argument is missing; empty if the argument is optional
    many: bool


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message.removeprefix("argument "))


class Arguments:
    """Parses the arguments of a verb and prints its help. Adds --json, -q, --no-color and -h.

        arguments = Arguments(VerbHelp("check", usage="FILE... [options]", ...))
        arguments.positionals("FILE", "paths", "Python files")
        arguments.option("--sarif", "FILE", "also write SARIF 2.1.0")
        options = arguments.parse(["train.py", "--json"])

    Three modes decide which arguments belong to another program:

    command_after_dashes   arguments after `--` become `options.command`: `doctor -- python train.py`
    ends_at_positional     the first positional and all later arguments become `options.command`:
                           `run train.py --lr 1`
    neither                options and positionals may be mixed; arguments after `--` are positionals

    `check` is called with the parsed options, and raises UsageError if they contradict each other.
    `sub_verbs` are names of verbs such as "compare" in "doctor compare". They parse their own
    arguments; the names are only used to suggest a spelling.
    """

    def __init__(
        self,
        help: VerbHelp,
        *,
        command_after_dashes: bool = False,
        ends_at_positional: bool = False,
        check: Callable[[Options], None] | None = None,
        sub_verbs: Sequence[str] = (),
    ) -> None:
        self.verb = help.verb
        self._help, self._check, self._sub_verbs = help, check, sub_verbs
        self._command_after_dashes = command_after_dashes
        self._ends_at_positional = ends_at_positional
        self._parser = _Parser(prog=f"tundish {help.verb}", add_help=False, allow_abbrev=False)
        self._positionals: list[_Positional] = []
        self._positional_rows: list[tuple[str, str]] = []
        self._option_rows: list[tuple[str, str]] = []
        self._names: list[str] = []
        self._takes_value: set[str] = set()
        self._defaults: dict[str, Any] = {}  # not given to argparse, which would convert them
        self._common = [
            ("--json", help.json_about),
            ("-q,--quiet", help.quiet_about),
            ("--no-color", "no colors (also: the variable NO_COLOR)"),
            ("-h,--help", "print this"),
        ]
        for names, _ in self._common:
            self._add(names, action="store_true")

    def positional(self, name: str, target: str, about: str, missing: str = "") -> None:
        """Adds a positional argument.

        `missing` is the error message if the argument is absent; "" makes the argument optional.
        """
        self._positionals.append(_Positional(name, target, missing, many=False))
        self._positional_rows.append((name, about))

    def positionals(self, name: str, target: str, about: str) -> None:
        """Adds a positional argument that collects all remaining ones, possibly none."""
        self._positionals.append(_Positional(name, target, "", many=True))
        self._positional_rows.append((name, about))

    def row(self, name: str, about: str) -> None:
        """Adds a help row for an argument that ends up in `options.command`."""
        self._positional_rows.append((name, about))

    def option(
        self,
        names: str,
        value: str,
        about: str,
        convert: Callable[[str], Any] = str,
        default: Any = None,
        repeated: bool = False,
    ) -> None:
        """Adds an option.

        `names` has the form "-o,--output"; `value` is the placeholder in the help text.

        Without a `default`, the value of an absent option is "" for strings and [] for `repeated` options.
        """
        more: dict[str, Any] = {"action": "append"} if repeated else {}
        if default is None and convert is str:
            default = [] if repeated else ""
        self._takes_value |= set(names.split(","))
        action = self._add(names, type=convert, metavar=value, **more)
        self._defaults[action.dest] = default
        self._option_rows.append((f"{_shown(names)} {value}", about))

    def flag(self, names: str, about: str) -> None:
        self._add(names, action="store_true")
        self._option_rows.append((_shown(names), about))

    def parse(self, argv: Sequence[str]) -> Options:
        """Returns the parsed options and stores the full command line in `options.argv`.

        Raises UsageError.
        """
        own, rest = self.split(argv)
        self._refuse_old_names(own)
        options, extra = self._parser.parse_known_args(own)
        positionals = [argument for argument in extra if not _is_option(argument)]
        if len(positionals) < len(extra):
            unknown = next(argument for argument in extra if _is_option(argument))
            raise UsageError(f"unknown option {unknown!r}{self._hint(unknown, self._names)}")
        if self._command_after_dashes or self._ends_at_positional:
            options.command = rest
        else:
            positionals += rest
        for target, default in self._defaults.items():
            if getattr(options, target) is None:
                setattr(options, target, copy.copy(default))
        self._assign_positionals(options, positionals)
        options.argv = ["tundish", *self.verb.split(), *argv]
        if self._check is not None:
            self._check(options)
        return options

    def split(self, argv: Sequence[str]) -> tuple[list[str], list[str]]:
        """Splits `argv` into the verb's own arguments and the arguments after them, without the `--`."""
        end = 0
        while end < len(argv) and argv[end] != "--":
            if self._ends_at_positional and not _is_option(argv[end]):
                return [*argv[:end]], [*argv[end:]]
            takes_value = self._ends_at_positional and argv[end] in self._takes_value
            end += 2 if takes_value else 1
        return [*argv[:end]], [*argv[end + 1 :]]

    def help(self) -> str:
        rows = self._positional_rows + self._option_rows
        rows += [(_shown(names), about) for names, about in self._common]
        width = max(NAMES, max(len(name) for name, _ in rows))
        page, verb = self._help, f"tundish {self.verb}"
        usage = [f"{verb} {line}" for line in page.usage.splitlines()]
        parts = [
            "\n".join(["examples:", *(f"  {line}" for line in page.examples.splitlines())]),
            "usage: " + "\n       ".join(usage),
            _wrapped(page.text),
            "\n".join(_row(name, about, width) for name, about in rows),
            _wrapped(page.after),
            f"with --json:\n{_wrapped(page.json)}",
            _wrapped(f"exit codes: {page.exit_codes}"),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _add(self, names: str, **how: Any) -> argparse.Action:
        self._names += names.split(",")
        return self._parser.add_argument(*names.split(","), **how)

    def _refuse_old_names(self, own: Sequence[str]) -> None:
        renamed: Mapping[str, str] = RENAMED_OPTIONS.get(self.verb, {})
        for name in (argument.partition("=")[0] for argument in own):
            if name in renamed:
                raise UsageError(f"{name} is now {renamed[name]}")

    def _assign_positionals(self, options: Options, given: list[str]) -> None:
        remaining = list(given)
        for positional in self._positionals:
            if positional.many:
                setattr(options, positional.target, remaining)
                remaining = []
                continue
            if not remaining and positional.missing:
                raise UsageError(positional.missing)
            setattr(options, positional.target, remaining.pop(0) if remaining else "")
        if not remaining:
            return
        hint = self._hint(given[0], self._sub_verbs)
        unknown = given[0] if hint else remaining[0]
        if not hint and self._command_after_dashes:
            hint = f"\n  fix: tundish {self.verb} -- {' '.join(given)}"
        raise UsageError(f"unknown argument {unknown!r}{hint}")

    def _hint(self, unknown: str, known: Sequence[str]) -> str:
        near = close_name(unknown.partition("=")[0], known)
        return f"; did you mean {near}?" if near else ""


def _is_option(argument: str) -> bool:
    return argument.startswith("-") and argument != "-"


def _shown(names: str) -> str:
    """Formats "-o,--output" as "-o, --output". Indents a long option that has no short name."""
    return f"    {names}" if names.startswith("--") else names.replace(",", ", ")


def _row(name: str, about: str, width: int) -> str:
    indent = " " * (width + 3)
    head = f"  {name:<{width}} "
    return textwrap.fill(
        " ".join(about.split()),
        WIDTH,
        initial_indent=head,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _wrapped(text: str) -> str:
    """Wraps each paragraph to WIDTH columns. Indented lines are kept."""
    out: list[str] = []
    paragraph: list[str] = []
    for line in [*text.strip("\n").splitlines(), ""]:
        if line and not line.startswith(" "):
            paragraph.append(line)
            continue
        if paragraph:
            out += textwrap.wrap(
                " ".join(paragraph), WIDTH, break_on_hyphens=False, break_long_words=False
            )
            paragraph = []
        out.append(line)
    return "\n".join(out).rstrip()
