"""The arguments of a verb, each described once. argparse parses them; the help is made here."""

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

WIDTH = 80  # columns of a help text
NAMES = 22  # columns of the names of options
Options = argparse.Namespace


@dataclass(frozen=True)
class VerbHelp:
    """What the help says beside the options. Paragraphs are wrapped; indented lines stay."""

    verb: str  # with its sub-verb: "doctor compare"
    usage: str  # what follows the verb; a line for each way to call it
    examples: str  # one per line, the plainest first
    text: str  # what the verb does
    json: str  # the keys that --json prints
    exit_codes: str
    after: str = ""  # a paragraph after the options
    json_about: str = "print JSON on stdout, for programs"
    quiet_about: str = "print errors only"


@dataclass(frozen=True)
class _Word:
    name: str
    target: str
    missing: str  # empty: it may be missing
    many: bool


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message.removeprefix("argument "))


class Arguments:
    """Parses the arguments of a verb and prints its help. Adds --json, -q, --no-color and -h.

        arguments = Arguments(VerbHelp("check", usage="FILE... [options]", ...))
        arguments.words("FILE", "paths", "Python files")
        arguments.option("--sarif", "FILE", "also write SARIF 2.1.0")
        options = arguments.parse(["train.py", "--json"])

    Where options end and another program's arguments begin:

    command_after_dashes   what follows `--` is `options.command`, as in `doctor -- python train.py`
    ends_at_first_word     from the first word on, all is `options.command`: `run train.py --lr 1`
    otherwise              options may stand between words; what follows `--` is words

    `check` sees the options of every successful parse and raises UsageError where they contradict
    each other. `sub_verbs` have arguments of their own and are known here for misspelled ones.
    """

    def __init__(
        self,
        help: VerbHelp,
        *,
        command_after_dashes: bool = False,
        ends_at_first_word: bool = False,
        check: Callable[[Options], None] | None = None,
        sub_verbs: Sequence[str] = (),
    ) -> None:
        self.verb = help.verb
        self._help, self._check, self._sub_verbs = help, check, sub_verbs
        self._command_after_dashes = command_after_dashes
        self._ends_at_first_word = ends_at_first_word
        self._parser = _Parser(prog=f"tundish {help.verb}", add_help=False, allow_abbrev=False)
        self._words: list[_Word] = []
        self._word_rows: list[tuple[str, str]] = []
        self._option_rows: list[tuple[str, str]] = []
        self._names: list[str] = []
        self._takes_value: set[str] = set()
        self._defaults: dict[str, Any] = {}  # argparse would convert them
        self._common = [
            ("--json", help.json_about),
            ("-q,--quiet", help.quiet_about),
            ("--no-color", "no colors (also: the variable NO_COLOR)"),
            ("-h,--help", "print this"),
        ]
        for names, _ in self._common:
            self._add(names, action="store_true")

    def word(self, name: str, target: str, about: str, missing: str = "") -> None:
        """An argument without dashes. `missing`: the error where it is not given, or empty."""
        self._words.append(_Word(name, target, missing, many=False))
        self._word_rows.append((name, about))

    def words(self, name: str, target: str, about: str) -> None:
        """All further arguments without dashes, none included."""
        self._words.append(_Word(name, target, "", many=True))
        self._word_rows.append((name, about))

    def row(self, name: str, about: str) -> None:
        """A row of the help for a word that `options.command` holds."""
        self._word_rows.append((name, about))

    def option(
        self,
        names: str,
        value: str,
        about: str,
        convert: Callable[[str], Any] = str,
        default: Any = None,
        repeated: bool = False,
    ) -> None:
        """`names` as in "-o,--output". `value`: what stands for the value in the help.

        An option that is not given has its `default`, otherwise "" for a text and [] if `repeated`.
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
        """Returns the options, and the whole command line as `argv`. Raises UsageError."""
        own, rest = self.split(argv)
        self._refuse_old_names(own)
        options, extra = self._parser.parse_known_args(own)
        words = [word for word in extra if not _is_option(word)]
        if len(words) < len(extra):
            unknown = next(word for word in extra if _is_option(word))
            raise UsageError(f"what is {unknown!r}?{self._hint(unknown, self._names)}")
        if self._command_after_dashes or self._ends_at_first_word:
            options.command = rest
        else:
            words += rest
        for target, default in self._defaults.items():
            if getattr(options, target) is None:
                setattr(options, target, copy.copy(default))
        self._take_words(options, words)
        options.argv = ["tundish", *self.verb.split(), *argv]
        if self._check is not None:
            self._check(options)
        return options

    def split(self, argv: Sequence[str]) -> tuple[list[str], list[str]]:
        """Returns the verb's own arguments and those after them, without the `--` between."""
        end = 0
        while end < len(argv) and argv[end] != "--":
            if self._ends_at_first_word and not _is_option(argv[end]):
                return [*argv[:end]], [*argv[end:]]
            takes_value = self._ends_at_first_word and argv[end] in self._takes_value
            end += 2 if takes_value else 1
        return [*argv[:end]], [*argv[end + 1 :]]

    def help(self) -> str:
        rows = self._word_rows + self._option_rows
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
        for name in (word.partition("=")[0] for word in own):
            if name in renamed:
                raise UsageError(f"{name} is now {renamed[name]}")

    def _take_words(self, options: Options, words: list[str]) -> None:
        left = list(words)
        for word in self._words:
            if word.many:
                setattr(options, word.target, left)
                left = []
                continue
            if not left and word.missing:
                raise UsageError(word.missing)
            setattr(options, word.target, left.pop(0) if left else "")
        if not left:
            return
        hint = self._hint(words[0], self._sub_verbs)
        unknown = words[0] if hint else left[0]
        if not hint and self._command_after_dashes:
            hint = f"\n  fix: tundish {self.verb} -- {' '.join(words)}"
        raise UsageError(f"what is {unknown!r}?{hint}")

    def _hint(self, unknown: str, known: Sequence[str]) -> str:
        near = close_name(unknown.partition("=")[0], known)
        return f"; did you mean {near}?" if near else ""


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _shown(names: str) -> str:
    """ "-o,--output" as "-o, --output"; a long option without a short one is indented."""
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
    """Each paragraph filled. Indented lines stay as they are."""
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
