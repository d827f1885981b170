"""The words of `tundish run`: options, help that starts with an example, mistakes explained."""

from __future__ import annotations

import argparse
import math
import os
from typing import NoReturn

from .._c.close_name import close_name
from .._c.errors import ArgumentError

HELP = """\
examples:
  tundish run train.py
  tundish run --ranks 2 --logs logs/ train.py --lr 0.1
  tundish run --nodes 2 --node 0 --address host0:29500 train.py
  tundish run --dry-run train.py

usage: tundish run [options] SCRIPT [words of the script]

Runs a training script once per GPU, as torchrun does, with good defaults: one rank
per visible GPU (one without a GPU), CPUs and threads shared out so that each rank is
close to its GPU, a free port. The first rank prints to the terminal as if it were
alone; lines of the others begin with "[rank 1] ". When a rank fails, the message
names the one that failed first and ends the others. Nothing stays behind.

  SCRIPT                 a Python file; every word after it is the script's
  -m                     SCRIPT is a module, as in python -m
      --ranks N          processes on this machine (one per GPU)
      --nodes N          machines of the run (1), each with the same number of ranks
      --node I           which of them this is, from 0
      --address HOST[:P] where machine 0 can be reached; the same on all machines
      --logs DIR         DIR/rank0.log, ...; the other ranks then print only there
      --no-affinity      do not bind ranks to CPUs
      --grace S          seconds to end in, before a rank is killed (10)
      --exit-timeout S   end ranks that run S seconds after another one ended well
      --dry-run          print what each rank would get, and start nothing
      --json             print JSON on stdout, for programs; the ranks print on stderr
  -q, --quiet            no notes, only errors
  -h, --help             print this

Variables of each rank: RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, GROUP_RANK,
MASTER_ADDR, MASTER_PORT and the others of torchrun; OMP_NUM_THREADS, PYTHONUNBUFFERED,
PYTHONFAULTHANDLER unless they are set.

with --json:
{command, nodes, node, world_size, ranks, exit, seconds, signal, failure}; ranks is an
array of {rank, local_rank, gpu, cpus, threads, environment, exit, signal, seconds,
ended_by_launcher, log}; failure is null or {rank, exit, message, stderr}. With
--dry-run nothing has ended: exit, seconds, signal, ended_by_launcher, log and failure
are left out

exit codes: 0 done, 2 wrong use, 130 interrupted (128 + signal), 1 ended by
--exit-timeout or failed to start; else that of the rank that failed first, 128 + N
when signal N killed it
"""
SEE = "\n  see: tundish help run"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ArgumentError(message + SEE)


def _parser() -> _Parser:
    parser = _Parser(prog="tundish run", add_help=False, allow_abbrev=False)
    parser.add_argument("-m", dest="module", action="store_true")
    parser.add_argument("--ranks", type=_count)
    parser.add_argument("--nodes", type=_count)
    parser.add_argument("--node", type=_index)
    parser.add_argument("--address", default="")
    parser.add_argument("--logs", metavar="DIR", default="")
    parser.add_argument("--no-affinity", action="store_true")
    parser.add_argument("--grace", type=_seconds, default=10.0)
    parser.add_argument("--exit-timeout", type=_seconds)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("-h", "--help", action="store_true")
    return parser


def split_words(words: list[str]) -> tuple[list[str], list[str]]:
    """The launcher's words, and the script with its own. The first word that is neither an option
    nor the value of one is the script."""
    valued = {
        name for one in _parser()._actions if one.nargs is None for name in one.option_strings
    }
    i = 0
    while i < len(words) and words[i].startswith("-") and words[i] != "--":
        i += 2 if words[i] in valued else 1
    return words[:i], words[i + 1 :] if words[i : i + 1] == ["--"] else words[i:]


def parse(words: list[str]) -> argparse.Namespace:
    """The options, with script and arguments. ArgumentError says what is wrong with them."""
    own, rest = split_words(words)
    parser = _parser()
    options, unknown = parser.parse_known_args(own)
    if unknown:
        known = [name for action in parser._actions for name in action.option_strings]
        near = close_name(unknown[0].partition("=")[0], known)
        hint = f"; did you mean {near}?" if near else ""
        raise ArgumentError(f"what is {unknown[0]!r}?{hint}{SEE}")
    options.script, options.arguments = (rest[0], rest[1:]) if rest else ("", [])
    if not options.help:
        _check_script(options)
        _check_nodes(options)
    return options


def _check_script(options: argparse.Namespace) -> None:
    script = options.script
    if not script:
        raise ArgumentError("SCRIPT is missing\n  fix: tundish run train.py" + SEE)
    if options.module:
        return
    if os.path.isdir(script) and not os.path.exists(os.path.join(script, "__main__.py")):
        raise ArgumentError(f"{script} is a folder\n  fix: name the script in it")
    if not os.path.exists(script):
        folder = os.path.dirname(script)
        try:
            names = [one for one in os.listdir(folder or ".") if one.endswith(".py")]
        except OSError:
            raise ArgumentError(
                f"{script}: there is no folder {folder}\n  fix: name the script as seen from {os.getcwd()}"
            ) from None
        near = close_name(os.path.basename(script), names)
        fix = (
            f"did you mean {os.path.join(folder, near)}?"
            if near
            else f"name the script as seen from {os.getcwd()}"
        )
        raise ArgumentError(f"{script}: no such script\n  fix: {fix}")


def _check_nodes(options: argparse.Namespace) -> None:
    if options.nodes is None:
        if options.node is not None:
            raise ArgumentError("--node is for --nodes N" + SEE)
        options.nodes, options.node = 1, 0
    if options.nodes > 1 and (options.node is None or not options.address):
        missing = "--node I" if options.node is None else "--address HOST"
        raise ArgumentError(
            f"{options.nodes} machines need {missing}\n"
            f"  fix: tundish run --nodes {options.nodes} --node 0 --address HOST:29500 {options.script}\n"
            "       on the first machine, HOST, and with --node 1, ... on the others"
        )
    options.node = options.node or 0
    if options.node >= options.nodes:
        raise ArgumentError(
            f"--node {options.node} of --nodes {options.nodes}\n"
            f"  fix: machines are counted from 0: use 0 to {options.nodes - 1}"
        )


def _count(word: str) -> int:
    if not (word.isdigit() and 0 < int(word) < 100_000):
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number above 0")
    return int(word)


def _index(word: str) -> int:
    if not word.isdigit():
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number from 0")
    return int(word)


def _seconds(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not (value >= 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of seconds")
    return value
