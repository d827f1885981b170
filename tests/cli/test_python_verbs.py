"""Features common to all verbs written in Python: options, help, errors, colors, JSON."""

import ast
import io
import json
import re
import subprocess
import sys

import pytest
from tundish import demo
from tundish._cli import option_values as values
from tundish._cli.arguments import Arguments, VerbHelp
from tundish._cli.common_options import add_select_ignore, add_slower_than
from tundish._cli.error_output import UsageError, print_error
from tundish._cli.json_output import json_text
from tundish._cli.renamed import RENAMED_OPTIONS
from tundish._cli.terminal import paint, printable, use_color
from tundish._cli.verb import run_verb
from tundish.diagnosis.cli import check_options as check
from tundish.diagnosis.cli import compare_verb as compare_cli
from tundish.diagnosis.cli import doctor_options as doctor
from tundish.launch import run_options as launch
from tundish.tuning.cli import batch_size_verb as batch_size_cli
from tundish.tuning.cli import remeasure_verb as remeasure_cli
from tundish.tuning.cli import tune_options as tune

from tests.helpers.program import ROOT, needs_program, out, tundish

PACKAGE = ROOT / "python" / "tundish"
MODULES = (check, doctor, compare_cli, launch, tune, remeasure_cli, batch_size_cli, demo)
VERBS = {module.ARGUMENTS.verb: module.ARGUMENTS for module in MODULES}
PAGE = VerbHelp(
    verb="glue",
    usage="FILE...\nsole SHOE",
    examples="tundish glue a.py\ntundish glue sole left",
    text="Glues files.\nTwice.\n\n  as.it(stands)   here",
    json="{files}",
    exit_codes="0 done",
)


def make(**more):
    arguments = Arguments(PAGE, **more)
    arguments.option("-o,--output", "FILE", "where to put it")
    arguments.option("--times", "N", "how often (1)", values.whole_number(1, 9), 1)
    arguments.option("--with", "THING", "may be repeated", repeated=True)
    add_select_ignore(arguments, "file")
    arguments.flag("-w,--wet", "with water")
    return arguments


def with_words(**more):
    arguments = make(**more)
    arguments.positional("FIRST", "first", "the first file", missing="FIRST is missing")
    arguments.positionals("FILE", "files", "the other files")
    return arguments


HELP = """\
examples:
  tundish glue a.py
  tundish glue sole left

usage: tundish glue FILE...
       tundish glue sole SHOE

Glues files. Twice.

  as.it(stands)   here

  FIRST                  the first file
  FILE                   the other files
  -o, --output FILE      where to put it
      --times N          how often (1)
      --with THING       may be repeated
      --select A,B       only these files
      --ignore A,B       all files except these
  -w, --wet              with water
      --json             print JSON on stdout, for programs
  -q, --quiet            print errors only
      --no-color         no colors (also: the variable NO_COLOR)
  -h, --help             print this

with --json:
{files}

exit codes: 0 done
"""


def test_help_is_made_from_the_options():
    assert with_words().help() == HELP


@needs_program
@pytest.mark.parametrize("verb", sorted(set(VERBS) - {"demo-page"}))  # the demo calls demo-page
def test_the_program_shows_the_help(verb):
    argv = verb.split()
    assert out(tundish("help", *argv)) == VERBS[verb].help()
    assert out(tundish(*argv, "--help")) == VERBS[verb].help()


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_every_verb_fits_80_columns_and_lists_each_option_once(verb):
    text = VERBS[verb].help()
    assert text.startswith("examples:\n  tundish ")
    assert max(map(len, text.splitlines())) <= 80
    assert "\nexit codes: 0 done" in text
    rows = re.findall(r"^  (-\w), (--[\w-]+)|^      (--[\w-]+)|^  (-\w) ", text, re.M)
    shown = [name for row in rows for name in row if name]
    assert sorted(shown) == sorted(VERBS[verb]._names)
    assert {"--json", "-q", "--quiet", "--no-color", "-h", "--help"} <= set(shown)


def test_one_option_means_the_same_on_every_verb():
    """Checks that an option takes the same kind of value on every verb, or none on every verb."""
    found = {}
    for arguments in VERBS.values():
        for name, value in re.findall(r"(--[\w-]+)(?: ([A-Z][\w:,.\[\]]*))?  ", arguments.help()):
            found.setdefault(name, set()).add(value)
    assert len(found) > 30
    assert not {name: kinds for name, kinds in found.items() if len(kinds) > 1}


def test_options_mix_with_arguments_and_two_dashes_end_the_options():
    options = with_words().parse(["a", "-w", "b", "--with", "x", "c", "--with=y", "--", "-o"])
    assert (options.first, options.files) == ("a", ["b", "c", "-o"])
    assert (options.wet, options.times, options.output) == (True, 1, "")
    assert getattr(options, "with") == ["x", "y"]
    assert (options.select, options.ignore) == (None, [])
    assert options.argv[:3] == ["tundish", "glue", "a"]


def test_a_default_list_is_not_shared_between_parses():
    arguments = with_words()
    arguments.parse(["a"]).ignore.append("b")
    assert arguments.parse(["a"]).ignore == []


def test_a_command_follows_two_dashes():
    options = make(command_after_dashes=True).parse(["-w", "--", "python", "--times", "x"])
    assert options.command == ["python", "--times", "x"]
    with pytest.raises(UsageError, match=r"unknown argument 'a.py'\n  fix: tundish glue -- a.py b"):
        make(command_after_dashes=True).parse(["a.py", "b"])


def test_a_command_starts_at_the_first_word():
    options = make(ends_at_positional=True).parse(["-o", "out", "a.py", "-w", "--times", "x"])
    assert (options.output, options.wet) == ("out", False)
    assert options.command == ["a.py", "-w", "--times", "x"]


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        ([], "FIRST is missing"),
        (["a", "--timse", "2"], "unknown option '--timse'; did you mean --times?"),
        (["a", "--tim", "2"], "unknown option '--tim'; did you mean --times?"),
        (["a", "--times", "10"], "--times: '10' is not a whole number from 1 to 9"),
        (["a", "--times", "1" * 9999], "is not a whole number from 1 to 9"),
        (["a", "--times", "²"], "'²' is not a whole number"),
        (["a", "--times"], "--times: expected one argument"),
        (["a", "--select", ","], "--select: ',' names no file"),
        (["a", "-x"], "unknown option '-x'"),
    ],
)
def test_an_invalid_argument_is_explained(argv, text):
    with pytest.raises(UsageError) as caught:
        with_words().parse(argv)
    assert text in str(caught.value)


def test_a_misspelled_sub_verb_is_named():
    arguments = make(sub_verbs=["sole"])
    with pytest.raises(UsageError, match=r"^unknown argument 'soel'; did you mean sole\?$"):
        arguments.parse(["soel", "left"])
    with pytest.raises(UsageError, match=r"^unknown argument 'left'$"):
        arguments.parse(["left"])


@pytest.mark.parametrize(
    ("convert", "good", "bad"),
    [
        (values.positive_number(), {"0.5": 0.5}, ["0", "-1", "nan", "inf", "x"]),
        (values.seconds(), {"0": 0.0, "1e3": 1000.0}, ["-1", "nan", "inf", "x"]),
        (values.percentage(), {"3": 3.0, "0.5%": 0.5}, ["-1", "1001", "nan", "%"]),
        (values.name_list("trick"), {"a, b,": ["a", "b"]}, ["", ","]),
        (values.choice("a", "b"), {"a": "a"}, ["", "c"]),
        (values.whole_number(-2, 9), {"-2": -2, "9": 9}, ["-3", "10", "1.0", "+", "-", ""]),
    ],
)
def test_values_are_checked_against_their_range(convert, good, bad):
    assert {text: convert(text) for text in good} == good
    for text in bad:
        with pytest.raises(values.ArgumentTypeError, match=re.escape(repr(text))):
            convert(text)


def test_a_renamed_option_suggests_an_existing_option(capsys):
    """The message comes first even if the command line has other errors."""
    for verb, options in RENAMED_OPTIONS.items():
        for old, new in options.items():
            for argv in ([old], [f"{old}=3", "--json"], ["--nothing", old]):
                code = run_verb(VERBS[verb], argv, lambda options: 0)
                out, error = capsys.readouterr()
                assert code == 2
                assert error.startswith(
                    f"tundish: {old} is now {new}\n  see: tundish help {verb}\n"
                )
                assert bool(out) == ("--json" in argv)
            if new.startswith("-"):
                assert new in VERBS[verb]._names
            elif new != "tundish env":
                assert new.removeprefix("tundish ").startswith(tuple(VERBS))


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (UsageError("no"), 2, "no\n  see: tundish help glue"),
        (values.ArgumentTypeError("x"), None, ""),
        (OSError(2, "gone", "f"), 1, "[Errno 2] gone: 'f'"),
        (KeyboardInterrupt(), 130, "stopped"),
    ],
)
def test_errors_have_an_exit_code_and_json(capsys, raised, code, message):
    def run(options):
        raise raised

    if code is None:  # an internal error keeps its traceback
        with pytest.raises(type(raised)):
            run_verb(with_words(), ["a"], run)
        return
    assert run_verb(with_words(), ["a", "--json"], run, interrupted="stopped") == code
    out, error = capsys.readouterr()
    assert error == f"tundish: {message}\n"
    assert json.loads(out)["error"]["exit"] == code


def test_see_names_the_help_of_a_sub_verb(capsys):
    assert run_verb(VERBS["doctor compare"], ["--thing"], lambda options: 0) == 2
    assert "\n  see: tundish help doctor compare\n" in capsys.readouterr().err


def test_an_error_has_no_characters_that_move_the_cursor(capsys):
    print_error("a\x1b[2Jb\tc\x1b[31mred\x1b[0m\nnext", 1)
    assert capsys.readouterr().err == "tundish: a?[2Jb cred\nnext\n"
    assert printable("a\tb\x00é") == "a b?é"


def test_json_has_neither_nan_nor_infinity():
    text = json_text({"a": [float("nan"), 1.5], "b": (float("inf"), "x"), "c": {"d": -1e999}})
    assert text.endswith("}\n")
    assert json.loads(text, parse_constant=pytest.fail) == {
        "a": [None, 1.5],
        "b": [None, "x"],
        "c": {"d": None},
    }
    assert json_text({"a": [1]}, indent=None) == '{"a": [1]}\n'


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "no_color", "colored"),
    [
        (Terminal(), {"TERM": "xterm"}, False, True),
        (Terminal(), {"TERM": "xterm"}, True, False),
        (Terminal(), {"TERM": "dumb"}, False, False),
        (Terminal(), {}, False, False),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, False, False),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": ""}, False, True),
        (io.StringIO(), {"TERM": "xterm"}, False, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, False, True),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colors_follow_the_terminal_and_the_environment(
    monkeypatch, stream, environment, no_color, colored
):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
        if name in environment:
            monkeypatch.setenv(name, environment[name])
    assert use_color(stream, no_color) is colored
    assert paint("a", "31", colored) == ("\x1b[31ma\x1b[0m" if colored else "a")


def run_with_stdout(stdout, *argv):
    code = "import sys; from tundish.__main__ import main; sys.exit(main(sys.argv[1:]))"
    line = [sys.executable, "-c", code, *argv]
    return subprocess.run(line, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60)


@pytest.mark.parametrize("argv", [["check", "--list"], ["check", "--list", "--json"]])
def test_a_closed_stdout_pipe_ends_the_verb_quietly(argv):
    with subprocess.Popen(["true"], stdin=subprocess.PIPE) as reader:
        reader.wait()
        done = run_with_stdout(reader.stdin, *argv)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("argv", [["check", "--list"], ["run", "--help"]])
def test_a_full_disk_behind_stdout_is_an_error(argv):
    with open("/dev/full", "w") as full:
        done = run_with_stdout(full, *argv)
    assert done.returncode == 1
    assert done.stderr == "tundish: standard output: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("argv", [["check", "-h"], ["doctor", "compare", "-h"], ["run", "-h"]])
def test_help_imports_no_torch(argv):
    code = (
        "import sys; from tundish.__main__ import main; code = main(sys.argv[1:])\n"
        "sys.exit(code or 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, timeout=60)
    assert done.returncode == 0


def imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_one_parser_one_color_decision_one_json_format():
    found = {"argparse": set(), "NO_COLOR": set(), "allow_nan": set(), '{"error": {': set()}
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text()
        name = file.relative_to(PACKAGE).as_posix()
        if "argparse" in imports(ast.parse(text)):
            found["argparse"].add(name)
        for word in ("NO_COLOR", "allow_nan", '{"error": {'):
            if word in text:
                found[word].add(name)
    assert found == {
        "argparse": {"_cli/arguments.py", "_cli/option_values.py"},
        "NO_COLOR": {"_cli/arguments.py", "_cli/terminal.py"},
        "allow_nan": {"_cli/json_output.py", "diagnosis/timeline/chrome_file.py"},
        '{"error": {': {"_cli/error_output.py"},
    }


def test_the_default_of_slower_than_is_in_the_help():
    arguments = make()
    add_slower_than(arguments, 2.5)
    assert "--slower-than PERCENT exit with 1 if slower by more than this (2.5)" in arguments.help()
    assert arguments.parse([]).slower_than == 2.5
