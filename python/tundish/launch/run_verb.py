"""The verb `tundish run`.

The ranks' own output passes through. What the launcher has to say is on stderr and begins with
"tundish: ".
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
from .cpus import format_cpu_list, usable_cpus
from .failure import failure_text, first_failure, signal_name
from .gpus import Gpu, visible_gpus
from .rank_plan import (
    DEFAULT_PORT,
    Place,
    Rank,
    check_port,
    count_ranks,
    free_port,
    plan_ranks,
    split_address,
)
from .run_options import ARGUMENTS
from .supervise import Outcome, Supervisor, SupervisorOptions


def main(argv: Sequence[str]) -> int:
    """Runs the verb with the arguments after its name and returns the exit code."""
    return run_verb(ARGUMENTS, argv, _run, interrupted="interrupted before the ranks were started")


def _run(options: Options) -> int:
    gpus, note = visible_gpus()
    if note and not options.quiet:
        print_note(note)
    place = _place(options, gpus)
    ranks = plan_ranks(
        place,
        gpus,
        usable_cpus(),
        int(lib.tundish_usable_cpus()),
        os.environ,
        bind=not options.no_affinity,
    )
    command = [*(["-m"] if options.m else []), options.script, *options.arguments]
    about = {
        "command": ["python", *command],
        "nodes": place.nodes,
        "node": place.node,
        "world_size": place.world_size,
    }
    if options.dry_run:
        if options.json:
            print_json({**about, "ranks": [one.as_json() for one in ranks]})
        else:
            write_stdout(plan_text(place, ranks, command))
        return OK
    if place.node == 0 and options.address:
        check_port(place.port)
    logs = Path(options.logs) if options.logs else None
    if logs is not None:
        _make_folder(logs)
    how = SupervisorOptions(options.grace, options.exit_timeout, logs, 2 if options.json else 1)
    note_to = (lambda text: None) if options.quiet else None
    outcome = Supervisor(ranks, [sys.executable, *command], how, note_to).run()
    _report(outcome, options, about, ranks)
    return outcome.exit_code


def _place(options: Options, gpus: list[Gpu]) -> Place:
    count = count_ranks(options.ranks, gpus, os.environ.get("CUDA_VISIBLE_DEVICES"))
    if options.address:
        host, port = split_address(options.address)
        return Place(count, options.nodes, options.node, host, port or DEFAULT_PORT)
    return Place(count, port=free_port())


def _make_folder(logs: Path) -> None:
    try:
        logs.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ArgumentError(f"--logs {logs}: this is a file\n  fix: name a folder") from None


def plan_text(place: Place, ranks: list[Rank], command: list[str]) -> str:
    """What --dry-run prints."""
    lines = [f"{shlex.join(['python', *command])}, {_times(place)}", ""]
    for one in ranks:
        gpu = "no GPU"
        if one.gpu is not None:
            node = "" if one.gpu.numa_node is None else f", NUMA node {one.gpu.numa_node}"
            gpu = f"GPU {one.gpu.index} {one.gpu.name} ({one.gpu.pci}{node})"
        cpus = "all CPUs" if one.cpus is None else f"CPUs {format_cpu_list(one.cpus)}"
        threads = "1 thread" if one.threads == "1" else f"{one.threads} threads"
        lines.append(f"  rank {one.rank:<4} {gpu}; {cpus}; {threads}")
    shared = dict(ranks[0].environment)
    own = [name for name in shared if any(one.environment[name] != shared[name] for one in ranks)]
    for one in ranks:
        words = " ".join(f"{name}={one.environment[name]}" for name in own)
        if words:
            lines.append(f"  rank {one.rank:<4} {words}")
    lines += ["  all ranks", *(f"    {k}={v}" for k, v in shared.items() if k not in own)]
    return "\n".join(lines) + "\n"


def _times(place: Place) -> str:
    times = "once" if place.ranks == 1 else f"{place.ranks} times"
    if place.nodes == 1:
        return f"{times} on this machine"
    return f"{times} on machine {place.node} of {place.nodes}, {place.world_size} ranks in all"


def _report(outcome: Outcome, options: Options, about: dict[str, Any], ranks: list[Rank]) -> None:
    text = failure_text(outcome.endings, outcome.oom_kills)
    if outcome.interrupted:
        text = f"{signal_name(outcome.interrupted)}: all ranks have ended"
        killed = [str(one.rank) for one in outcome.endings if one.killed]
        if killed:
            text += f"; killed, since they did not end in time: {', '.join(killed)}"
    if text and outcome.interrupted:
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
    each = [{**one.as_json(), **end.as_json()} for one, end in zip(ranks, outcome.endings)]
    signal = signal_name(outcome.interrupted) if outcome.interrupted else None
    end = {"exit": outcome.exit_code, "seconds": round(outcome.seconds, 3)}
    print_json({**about, "ranks": each, **end, "signal": signal, "failure": failure})
