"""The verb `tundish run`.

The launcher forwards the output of the ranks. Its own messages go to stderr and begin with "tundish: ".
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._c.errors import ArgumentError
from .._c.library import lib
from .._cli.arguments import Options
from .._cli.error_output import print_error, print_note
from .._cli.exit_codes import OK
from .._cli.json_output import print_json
from .._cli.terminal import write_stdout
from .._cli.verb import run_verb
from .boosted import boosted_environment, start_boosted, with_python
from .cpus import format_cpu_list, usable_cpus
from .failure import failure_text, first_failure, signal_name
from .gpus import Gpu, visible_gpus
from .output import is_writable
from .rank_plan import (
    DEFAULT_PORT,
    Rank,
    RunTopology,
    check_port,
    count_ranks,
    free_port,
    plan_ranks,
    split_address,
)
from .run_options import ARGUMENTS
from .supervise import RankOutcome, Supervisor, SupervisorOptions

_STDERR = 2
_PATIENCE_S = 1.0


def main(argv: Sequence[str]) -> int:
    """Runs the verb with the arguments after its name and returns the exit code."""
    return run_verb(ARGUMENTS, argv, _run, interrupted="interrupted before the ranks were started")


def _run(options: Options) -> int:
    if options.boost and options.ranks is None and options.nodes == 1 and not options.dry_run:
        return start_boosted(options.boost, options.command)
    gpus, note = visible_gpus()
    if note and not options.quiet:
        print_note(note)
    topology = _topology(options, gpus)
    ranks = plan_ranks(
        topology,
        gpus,
        usable_cpus(),
        int(lib.tundish_usable_cpus()),
        os.environ,
        bind=not options.no_affinity,
    )
    command = [*(["-m"] if options.m else []), options.script, *options.arguments]
    argv, shown = [sys.executable, *command], ["python", *command]
    if options.boost:
        argv = shown = with_python(options.command)
        environment = boosted_environment(options.boost, options.command)
        ranks = [rank.with_variables(environment) for rank in ranks]
    about = {
        "command": shown,
        "nodes": topology.nodes,
        "node_rank": topology.node,
        "world_size": topology.world_size,
    }
    if options.dry_run:
        if options.json:
            print_json({**about, "ranks": [rank.as_json() for rank in ranks]})
        else:
            write_stdout(plan_text(topology, ranks, shown))
        return OK
    if topology.node == 0 and options.address:
        check_port(topology.port)
    logs = Path(options.logs) if options.logs else None
    if logs is not None:
        _make_folder(logs)
    how = SupervisorOptions(options.grace, options.exit_timeout, logs, 2 if options.json else 1)
    note_to = (lambda text: None) if options.quiet else None
    outcome = Supervisor(ranks, argv, how, note_to).run()
    _report(outcome, options, about, ranks)
    return outcome.exit_code


def _topology(options: Options, gpus: list[Gpu]) -> RunTopology:
    count = count_ranks(options.ranks, gpus, os.environ.get("CUDA_VISIBLE_DEVICES"))
    if options.address:
        host, port = split_address(options.address)
        return RunTopology(count, options.nodes, options.node_rank, host, port or DEFAULT_PORT)
    return RunTopology(count, port=free_port())


def _make_folder(logs: Path) -> None:
    try:
        logs.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ArgumentError(f"--logs {logs}: is a file\n  fix: name a folder") from None
    except OSError as error:
        fix = "name a folder that can be created"
        raise ArgumentError(f"--logs {logs}: {error.strerror}\n  fix: {fix}") from None


def plan_text(topology: RunTopology, ranks: list[Rank], command: list[str]) -> str:
    """Returns the output of --dry-run."""
    lines = [f"{shlex.join(command)}, {_times(topology)}", ""]
    for rank in ranks:
        gpu = "no GPU"
        if rank.gpu is not None:
            node = "" if rank.gpu.numa_node is None else f", NUMA node {rank.gpu.numa_node}"
            gpu = f"GPU {rank.gpu.index} {rank.gpu.name} ({rank.gpu.pci}{node})"
        cpus = "all CPUs" if rank.cpus is None else f"CPUs {format_cpu_list(rank.cpus)}"
        threads = "1 thread" if rank.threads == "1" else f"{rank.threads} threads"
        lines.append(f"  rank {rank.rank:<4} {gpu}; {cpus}; {threads}")
    shared = dict(ranks[0].environment)
    own = [key for key in shared if any(rank.environment[key] != shared[key] for rank in ranks)]
    for rank in ranks:
        variables = " ".join(f"{key}={rank.environment[key]}" for key in own)
        if variables:
            lines.append(f"  rank {rank.rank:<4} {variables}")
    lines += ["  all ranks", *(f"    {k}={v}" for k, v in shared.items() if k not in own)]
    return "\n".join(lines) + "\n"


def _times(topology: RunTopology) -> str:
    times = "once" if topology.ranks == 1 else f"{topology.ranks} times"
    if topology.nodes == 1:
        return f"{times} on this machine"
    return f"{times} on machine {topology.node} of {topology.nodes}, {topology.world_size} ranks in total"


def _report(
    outcome: RankOutcome, options: Options, about: dict[str, Any], ranks: list[Rank]
) -> None:
    text = failure_text(outcome.endings, outcome.oom_kills)
    if outcome.interrupted:
        text = f"{signal_name(outcome.interrupted)}: all ranks have ended"
        killed = [str(ending.rank) for ending in outcome.endings if ending.killed]
        if killed:
            text += f"; killed because they did not end in time: {', '.join(killed)}"
    if text and outcome.interrupted:
        if is_writable(_STDERR, _PATIENCE_S):  # a reader may take nothing
            print_note(text)
    elif text:
        print_error(text, outcome.exit_code)
    if not options.json:
        return
    first = first_failure(outcome.endings)
    failure = None
    if first is not None and not outcome.interrupted:
        failure = {"rank": first.rank, "exit": first.exit_code, "message": text}
        failure["stderr"] = first.tail
    each = [{**rank.as_json(), **ending.as_json()} for rank, ending in zip(ranks, outcome.endings)]
    signal = signal_name(outcome.interrupted) if outcome.interrupted else None
    end = {"exit": outcome.exit_code, "seconds": round(outcome.seconds, 3)}
    print_json({**about, "ranks": each, **end, "signal": signal, "failure": failure})
