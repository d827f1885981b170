"""Collects all observations of a process and writes them to a file for the doctor."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from dataclasses import replace
from typing import Any

from ..._process.usable_cpus import usable_cpus
from .applied.loader_change import Applied
from .applied.plan_change import AppliedPlan
from .facts import AppliedFacts, Facts, LoaderFacts, PlaceFacts, StepFacts, TorchFacts
from .loaders.loader_facts import loader_facts
from .profiles.recorded_facts import RecordedFacts
from .watch import Watch

_LIMIT_S = 10.0  # time limit for profiling the dataset, in addition to ten times its usual time
_FOLDER = ""  # working folder at the start, which the script may change
with contextlib.suppress(OSError):
    _FOLDER = os.getcwd()


def collect_facts(
    watch: Watch,
    loader: LoaderFacts | None,
    failed: str = "",
    cost_s: float | None = None,
    applied: Applied | AppliedPlan | None = None,
) -> Facts:
    """Returns the observations of this process.

    loader   result of inspect_loader()
    failed   why the loader could not be inspected
    cost_s   overhead of measuring per step; None while it is unknown
    applied  the change that --apply makes
    """
    torch = _torch()
    return Facts(
        pid=os.getpid(),
        rank=watch.rank,
        world=watch.world,
        phase=watch.phase,
        failed=watch.failed,
        seconds=time.perf_counter() - watch.began,
        python=sys.executable,
        script=_script(),
        files=watch.files,
        cpus=usable_cpus(),
        torch=torch,
        steps=_steps(watch),
        optimizer_steps=watch.optimizer_steps,
        lines=watch.lines.facts(),
        next=PlaceFacts(*watch.feeding.place),
        origins=list(watch.feeding.origins),
        loader=loader,
        loader_missing_reason=failed,
        overhead_s=cost_s,
        gpu_profile=watch.gpu_profile.summary,
        gpu_profile_missing_reason=watch.gpu_profile.failed,
        recorded=_recorded(watch),
        layers=watch.layers.result,
        layers_missing_reason=watch.layers.missing_reason,
        observed=watch.observed.facts() if torch is not None else None,
        proof=watch.proof.facts if watch.proof.wanted else None,
        applied=None if applied is None else AppliedFacts(applied.done, applied.text),
    )


def _steps(watch: Watch) -> list[StepFacts]:
    return [
        StepFacts(
            phase=step.phase,
            boundary=step.boundary,
            batches=step.batches,
            optimizer_steps=step.optimizer_steps,
            seconds=step.seconds,
            gpu_seconds=step.gpu,
            cpu_s=step.cpu_s,
            counts=step.counts,
            fed=step.fed,
            other_data_s=step.other_data_s,
        )
        for step in watch.steps
    ]


def _recorded(watch: Watch) -> RecordedFacts:
    failed = {name: recorder.failed for name, recorder in watch.recorders.items()}
    return RecordedFacts(
        asked=list(watch.recorders),
        failed={name: text for name, text in failed.items() if text},
        **{name: recorder.facts() for name, recorder in watch.recorders.items()},
    )


def inspect_loader(
    watch: Watch, most_s: float, at_end: bool = False
) -> tuple[LoaderFacts | None, str]:
    """Returns facts about the loader and an error text, which is "" on success. Never raises.

    The facts include the times of the loader's stages if these can be measured.

    `at_end`: the script is ending, so import no new modules. An import would make Python forget that
    Ctrl-C ended the script, and exit with code 1.
    """
    loader = watch.loader
    if loader is None:
        return None, ""
    out = loader_facts(loader)
    if most_s <= 0:
        return out, ""
    try:
        if out.kind == "torch":
            from .loaders.dataset_profile import profile_dataset
            from .loaders.engine_rate import engine_rate
            from .loaders.time_limit import TooLong, at_most

            try:
                with at_most(_LIMIT_S + 10 * most_s):
                    out = replace(out, samples=profile_dataset(loader, most_s))
            except TooLong as error:
                return out, str(error)
            if not at_end:
                out = replace(out, engine=engine_rate(loader, most_s))
        elif hasattr(loader, "stats"):
            out = replace(out, stats=_numbers(loader.stats()))
    except Exception as error:
        return out, f"{type(error).__name__}: {error}"
    return out, ""


def _numbers(values: dict[str, Any]) -> dict[str, float]:
    return {
        key: value
        for key, value in values.items()
        if type(value) in (int, float) and math.isfinite(value)
    }


def save(folder: str, facts: Facts) -> None:
    """Writes the facts file atomically. Does nothing if a killed doctor has left no folder."""
    path = os.path.join(folder, f"{facts.pid}.json")
    with contextlib.suppress(OSError):
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(facts, file, default=vars)  # all nested objects are dataclasses
        os.replace(path + ".new", path)


def _script() -> str:
    """Returns the path of the script, to use in suggested commands; "" for python -c and notebooks."""
    name = sys.argv[0].removeprefix(_FOLDER + os.sep) if sys.argv else ""
    return name if name.endswith(".py") else ""


def _torch() -> TorchFacts | None:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda"):
        return None
    gpu = torch.cuda.is_initialized() and torch.cuda.is_available()
    return TorchFacts(
        version=str(torch.__version__),
        threads=torch.get_num_threads(),
        gpu=torch.cuda.get_device_name() if gpu else None,
        peak_bytes=torch.cuda.max_memory_allocated() if gpu else 0,
    )
