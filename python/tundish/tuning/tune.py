"""tundish.tune: tries training tricks, keeps the tricks that pay off and returns a plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .._c.errors import ArgumentError, Error
from ..report.machine import machine, versions
from ..scratch_folder import scratch_folder
from .fingerprint import Fingerprint
from .job import Build, Job, JobSource, as_job, pickled_source, source_of
from .memory.memory_limit import limit_bytes
from .plan import Plan
from .report.commands import tune_command
from .report.report_queries import ms_text
from .report.results import TuneReport
from .search.confirmation import BASELINE, fallback_layers
from .search.gates import Gates
from .search.minutes import MINUTES, limit_of
from .search.rows import align_times
from .search.search import Search
from .search.variants import BaselineFailed, JobFacts
from .step import LossFunction
from .trials.known_failures import build_error, fix_of, late_build_error, late_step_error
from .trials.polling import call_and_poll
from .trials.pool import TrialOutcome, TrialPool
from .trials.trial import TrialFailed, TrialProcess
from .tricks import TRICKS, Trick, load_own

_FOLDERS = "tundish-tune-"
OVERTIME_S = 10.0  # extra time for the fresh run; after that, every process is ended
DESCRIBE_S = 600.0  # time limit for the description of the job if the run has no limit
FIRST_STEPS = 30  # steps that every trial runs first, for warm-up and for losses to compare


def tune(
    build: Build | str | torch.nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    loss_fn: LossFunction | None = None,
    batch: Any = None,
    *,
    quick: bool = False,
    minutes: float | None = None,
    seed: int = 0,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    custom_tricks: Sequence[str] = (),
    memory: int | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """Finds the training tricks that make your training step faster and returns them as a plan.

        plan = tundish.tune("train.py:build")     # build() returns model, optimizer, loss_fn, batch
        step = plan.apply(model, optimizer, loss_fn)
        loss = step(batch)

    All measurements run on a copy of the step, in child processes.

    build           a function that returns model, optimizer, loss_fn, batch; or "FILE:FUNCTION"; or the
                    model itself, followed by optimizer, loss_fn and batch, which are pickled
    quick           take about two minutes instead of six
    minutes         time limit in minutes
    seed            seed of the weights and of all random numbers
    select, ignore  names of the tricks to try, and of the tricks to leave out
    custom_tricks   your own tricks, each as "FILE:CLASS"
    memory          memory limit in bytes, or a string such as "40GiB"; activations are recomputed if
                    the step does not fit
    progress        function to call with lines of text about the progress

    Ctrl-C ends the run and returns the best plan so far.
    """
    limit = limit_of(minutes, quick)
    allowed = name_filter(select, ignore)
    target_bytes = 0 if memory is None else limit_bytes(memory, "tundish.tune: memory")
    with scratch_folder(_FOLDERS) as folder:
        source = make_source(build, optimizer, loss_fn, batch, folder)
        own = [custom_tricks] if isinstance(custom_tricks, str) else custom_tricks
        request = TuneRequest(limit, quick, seed, allowed, [load_own(spec)() for spec in own])
        request.target_bytes = target_bytes
        options: dict[str, Any] = {"quick": quick, "minutes": minutes, "seed": seed}
        options |= {"select": select, "ignore": ignore, "memory": memory}
        request.command = tune_command(source, own, options)
        return run(source, folder, request, progress or ignore_progress, job_name(build))


def measure_plan(
    build: Build | str,
    plan: Plan,
    *,
    quick: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> TuneReport:
    """Measures the speed of a plan again and checks its numerics.

    For comparison, also runs the step without tricks, and with the tricks that people apply by hand.
    """
    with scratch_folder(_FOLDERS) as folder:
        source = make_source(build, None, None, None, folder)
        request = TuneRequest(MINUTES, quick, seed, lambda trick: True, only=tuple(plan.tricks))
        request.made_for = plan.fingerprint
        return run(source, folder, request, progress or ignore_progress, job_name(build)).report


@dataclass
class TuneRequest:
    """The options of a tuning run."""

    minutes: float
    quick: bool
    seed: int
    allowed: Callable[[Trick], bool]
    own: list[Trick] = field(default_factory=list)
    target_bytes: int = 0
    command: str = ""
    only: tuple[Trick, ...] | None = None  # skip the search and measure this variant
    made_for: Fingerprint | None = None  # the job that the plan with this variant was made for

    def has_limit(self) -> bool:
        """Returns whether the run has a time limit. Measuring a plan again has none."""
        return self.only is None


def run(
    source: JobSource, folder: str, request: TuneRequest, progress: Callable[[str], None], name: str
) -> Plan:
    began = time.monotonic()
    progress("the job")
    tick = getattr(progress, "tick", ignore_progress)  # updates the shown time while trials run
    pool = TrialPool(
        source,
        folder,
        seed=request.seed,
        steps=FIRST_STEPS,
        prepare_s=60 * request.minutes,
        on_wait=lambda text: tick(),
    )
    if request.has_limit():
        pool.deadline = began + 60 * request.minutes + OVERTIME_S
    pool.start(BASELINE, ())  # prepares while the job is described
    try:
        described = describe(source, request, tick)
        check_same_job(request.made_for, described["fingerprint"])
    except BaseException:
        pool.close()
        raise
    facts = JobFacts(
        described["device_type"] == "cuda", described["obstacles"], described["samples"]
    )
    search = Search(
        pool,
        Gates(source, request.seed),
        facts,
        began + 60 * request.minutes,
        request.quick,
        request.own,
        request.target_bytes,
        request.allowed,
        progress,
    )
    finished = True
    try:
        if request.only is None:
            search.run()
        else:
            search.run_only(request.only)
        if request.has_limit() and search.late and not (search.measured or search.winner):
            raise no_time_error(request.minutes, search.baseline_ms)
        search.notes += remarks(search)
    except KeyboardInterrupt:
        finished = False
        search.notes.append("stopped by Ctrl-C: the best plan so far")
    except BaselineFailed as error:
        raise baseline_error_of(error.outcome, request) from None
    finally:
        pool.close()
    report = make_report(described, search, name)
    report.seconds, report.finished = time.monotonic() - began, finished
    report.command = request.command
    return Plan(list(search.winner), Fingerprint.from_json(described["fingerprint"]), report)


def check_same_job(made_for: Fingerprint | None, found: dict[str, Any]) -> None:
    if made_for is None:
        return
    for key, word in (("weights", "model"), ("optimizer", "optimizer")):
        if getattr(made_for, key) != found[key]:
            raise ArgumentError(
                f"this plan is for another {word}: {made_for.model} with {made_for.parameters:,} parameters, "
                f"{made_for.optimizer}; the job has {found['model']} with {found['parameters']:,}, {found['optimizer']}\n"
                "  fix: tune again: tundish tune FILE:FUNCTION"
            )


def remarks(search: Search) -> list[str]:
    """Returns notes for the user about the step itself."""
    out = []
    if not search.gates.deterministic:
        out.append(
            "your step is not deterministic; tundish.tuning.find_nondeterministic shows where"
        )
    if layers := fallback_layers(search):
        more = f" and {len(layers) - 5} more" if len(layers) > 5 else ""
        out.append(f"channels_last is lost in {', '.join(layers[:5])}{more}: each costs a copy")
    return out


def make_report(described: dict[str, Any], search: Search, name: str) -> TuneReport:
    align_times(search.rows, search.baseline_ms)
    return TuneReport(
        job=name,
        model=described["model"],
        optimizer=described["optimizer"],
        batch=described["batch"],
        samples=described["samples"],
        device=described["device"],
        baseline=described["baseline"],
        rows=search.rows,
        gains={
            other: {"gain": gain.gain, "low": gain.low, "high": gain.high}
            for other, gain in search.gains.items()
        },
        twin=search.twin_noise,
        notes=search.notes,
        timeline=search.pool.events,
        machine=machine() | ({"gpu": described["device"]} if search.facts.cuda else {}),
        versions=versions(),
    )


def describe(
    source: JobSource, request: TuneRequest, on_wait: Callable[[], None]
) -> dict[str, Any]:
    """Builds the job in a child process. Returns its description, and why tricks cannot be used."""
    process = TrialProcess()
    try:
        found = call_and_poll(
            process,
            on_wait,
            60 * request.minutes if request.has_limit() else DESCRIBE_S,
            "tundish.tuning.trials.job_description:describe_job",
            source=source,
            seed=request.seed,
            own=[trick.as_json() for trick in request.own],
        )
    except TrialFailed as error:
        if error.kind == "hang" and request.has_limit():
            raise late_build_error(source.function, request.minutes) from None
        raise build_error(source.function, str(error), error.details) from None
    finally:
        process.end()
    return dict(found)


def baseline_error_of(found: TrialOutcome, request: TuneRequest) -> ArgumentError:
    if found.kind in ("hang", "late") and request.has_limit():
        return late_step_error(FIRST_STEPS, request.minutes)
    return baseline_error(found.failed, found.kind, found.details)


def baseline_error(text: str, kind: str, details: dict[str, Any]) -> ArgumentError:
    """Returns the error for a user's step that fails even without tricks."""
    last = str(details.get("details", "")).rstrip()
    if kind == "not finite":
        fix = "check the batch for NaN, and the learning rate"
    elif kind == "out of memory":
        fix = "use a smaller batch; the step must fit into memory without tricks"
    elif kind == "hang":
        fix = "find out where the step waits: a lock, a data loader, another rank"
    else:
        fix = fix_of(text) or (
            "run one step by hand: optimizer.zero_grad(); loss_fn(model(inputs), targets).backward(); optimizer.step()"
        )
    return ArgumentError(
        f"your step fails without any trick: {text}\n  fix: {fix}\n{last}".rstrip()
    )


def no_time_error(minutes: float, step_ms: float) -> Error:
    """Returns the error for a search that could not time a single variant."""
    more = max(MINUTES, 3 * minutes)
    return Error(
        f"the search had no time for a single trial within {minutes:g} minutes, so there is no plan; "
        f"a step without any trick takes {ms_text(step_ms)} ms\n"
        f"  fix: give the run more time: --minutes {more:g}"
    )


def make_source(build: Any, optimizer: Any, loss_fn: Any, batch: Any, folder: str) -> JobSource:
    if not isinstance(build, torch.nn.Module):
        if optimizer is not None or loss_fn is not None or batch is not None:
            raise ArgumentError(
                "tundish.tune: pass optimizer, loss_fn and batch only with a model; a build function returns them"
            )
        return source_of(build)
    missing = [
        n
        for n, v in (("optimizer", optimizer), ("loss_fn", loss_fn), ("batch", batch))
        if v is None
    ]
    if missing:
        raise ArgumentError(
            f"tundish.tune: {missing[0]} is missing: tune(model, optimizer, loss_fn, batch)"
        )
    job: Job = as_job((build, optimizer, loss_fn, batch), "tundish.tune")
    return pickled_source(job, f"{folder}/job.pt")


def name_filter(select: Sequence[str] | None, ignore: Sequence[str]) -> Callable[[Trick], bool]:
    known = [kind.name for kind in TRICKS]
    for name in [*(select or ()), *ignore]:
        if name not in known:
            raise ArgumentError(f"unknown trick {name!r}; known tricks: {', '.join(known)}")
    return lambda trick: bool(
        trick.own or ((select is None or trick.name in select) and trick.name not in ignore)
    )


def ignore_progress(text: str = "") -> None:
    """Discards progress messages."""


def job_name(build: Any) -> str:
    if isinstance(build, str):
        return build
    return str(getattr(build, "__qualname__", type(build).__name__))
