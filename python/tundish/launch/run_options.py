"""The options of `tundish run`, and checks that the script exists."""

from __future__ import annotations

import os

from .._c.close_name import close_name
from .._cli.arguments import Arguments, Options, VerbHelp
from .._cli.error_output import UsageError
from .._cli.option_values import seconds, whole_number

MOST = 99_999  # largest number of ranks or machines
_HELP = VerbHelp(
    verb="run",
    usage="""\
[options] SCRIPT [arguments of the script]
--boost FILE [options] -- COMMAND [arguments of the command]""",
    examples="""\
tundish run train.py
tundish run --ranks 2 --logs logs/ train.py --lr 0.1
tundish run --nodes 2 --node-rank 0 --address host0:29500 train.py
tundish run --boost boost.json -- python train.py
tundish run --dry-run train.py""",
    text="""\
Runs a training script once per GPU, like torchrun but with better defaults: one rank
per visible GPU (one rank without GPUs), CPUs and threads divided so that each rank runs
close to its GPU, and a free port. The first rank prints to the terminal as if it ran
alone; lines of other ranks begin with "[rank 1] ". When a rank fails, the message
names the rank that failed first and the others are ended. No process is left running.

With --boost, starts the command once, with the changes that tundish boost found. --ranks
starts it once per rank.""",
    after="""\
Variables set for each rank: RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, GROUP_RANK,
MASTER_ADDR, MASTER_PORT and the others of torchrun; OMP_NUM_THREADS, PYTHONUNBUFFERED
and PYTHONFAULTHANDLER unless already set.""",
    json="""\
{command, nodes, node_rank, world_size, ranks, exit, seconds, signal, failure}; ranks is an
array of {rank, local_rank, gpu, cpus, threads, environment, exit, signal, seconds,
ended_by_launcher, log}; failure is null or {rank, exit, message, stderr}. With
--dry-run nothing runs: exit, seconds, signal, ended_by_launcher, log and failure are
omitted""",
    exit_codes="""\
0 done, 2 wrong use, 130 interrupted (128 + signal), 1 ended by --exit-timeout or failed
to start; otherwise the code of the rank that failed first, 128 + N if signal N killed it""",
    json_about="print JSON on stdout, for programs; the ranks print on stderr",
    quiet_about="no notes, only errors",
)


def _arguments() -> Arguments:
    arguments = Arguments(_HELP, ends_at_positional=True, check=_check_options)
    arguments.row("SCRIPT", "a Python file; later arguments are passed to it")
    arguments.flag("-m", "SCRIPT is a module, as in python -m")
    about = "the result of tundish boost: make its changes in the command's processes"
    arguments.option("--boost", "FILE", about)
    about = "processes on this machine (one per GPU; with --boost, one)"
    arguments.option("--ranks", "N", about, whole_number(1, MOST))
    about = "number of machines (1), each with the same number of ranks"
    arguments.option("--nodes", "N", about, whole_number(1, MOST))
    about = "number of this machine, from 0"
    arguments.option("--node-rank", "N", about, whole_number(0, MOST))
    about = "address of machine 0; the same on all machines"
    arguments.option("--address", "HOST[:P]", about)
    about = "write FOLDER/rank0.log, ...; other ranks then print only there"
    arguments.option("--logs", "FOLDER", about)
    arguments.flag("--no-affinity", "do not bind ranks to CPUs")
    about = "seconds a rank has to end before it is killed (10)"
    arguments.option("--grace", "SECONDS", about, seconds(), 10.0)
    about = "end ranks that still run this long after another succeeded"
    arguments.option("--exit-timeout", "SECONDS", about, seconds())
    arguments.flag("--dry-run", "print the plan of each rank without starting anything")
    return arguments


def _check_options(options: Options) -> None:
    command = options.command
    options.script, options.arguments = (command[0], command[1:]) if command else ("", [])
    if options.boost:
        _check_boost(options)
    else:
        _check_script(options)
    _check_nodes(options)


def _check_boost(options: Options) -> None:
    if not options.command:
        raise UsageError(
            "the command is missing\n  fix: tundish run --boost boost.json -- python train.py"
        )
    if options.m:
        raise UsageError("-m is part of the command with --boost: -- python -m MODULE")


def _check_script(options: Options) -> None:
    script = options.script
    if not script:
        raise UsageError("SCRIPT is missing\n  fix: tundish run train.py")
    if options.m:
        return
    if os.path.isdir(script) and not os.path.exists(os.path.join(script, "__main__.py")):
        raise UsageError(f"{script} is a folder\n  fix: name a script in this folder")
    if not os.path.exists(script):
        raise UsageError(_missing_script(script))


def _missing_script(script: str) -> str:
    folder = os.path.dirname(script)
    seen_from = f"name the script as seen from {os.getcwd()}"
    try:
        names = [name for name in os.listdir(folder or ".") if name.endswith(".py")]
    except OSError:
        return f"{script}: there is no folder {folder}\n  fix: {seen_from}"
    near = close_name(os.path.basename(script), names)
    fix = f"did you mean {os.path.join(folder, near)}?" if near else seen_from
    return f"{script}: no such script\n  fix: {fix}"


def _check_nodes(options: Options) -> None:
    if options.nodes is None:
        if options.node_rank is not None:
            raise UsageError("--node-rank is for --nodes N")
        options.nodes, options.node_rank = 1, 0
    if options.nodes > 1 and (options.node_rank is None or not options.address):
        missing = "--node-rank N" if options.node_rank is None else "--address HOST"
        line = f"tundish run --nodes {options.nodes} --node-rank 0 --address HOST:29500"
        raise UsageError(
            f"{options.nodes} machines need {missing}\n"
            f"  fix: {line} {options.script}\n"
            "       on the first machine, HOST, and with --node-rank 1, ... on the others"
        )
    options.node_rank = options.node_rank or 0
    if options.node_rank >= options.nodes:
        raise UsageError(
            f"--node-rank {options.node_rank} of --nodes {options.nodes}\n"
            f"  fix: machines are counted from 0: use 0 to {options.nodes - 1}"
        )


ARGUMENTS = _arguments()
