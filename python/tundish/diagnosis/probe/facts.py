"""Collects everything observed as one JSON object, and writes it to a file for the doctor."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from typing import Any

from .loaders.loader_facts import loader_facts, loader_kind
from .usable_cpus import usable_cpus
from .watch import Watch

VERSION = 1
_LIMIT_S = 10.0  # time for some samples, plus ten times what they may take
_FOLDER = ""  # working folder before the script changes it
with contextlib.suppress(OSError):
    _FOLDER = os.getcwd()


def facts(
    watch: Watch, loader: dict[str, Any] | None, failed: str = "", cost_s: float | None = None
) -> dict[str, Any]:
    """Returns the observations as JSON values.

    `loader`: result of inspect_loader(). `failed`: why the loader could not be inspected. `cost_s`:
    overhead of measuring per step; None while unknown.
    """
    steps = [
        {
            "phase": step.phase,
            "boundary": step.boundary,
            "batches": step.batches,
            "optimizer_steps": step.optimizer_steps,
            "seconds": step.seconds,
            "gpu_seconds": step.gpu,
            "cpu_s": step.cpu_s,
            "counts": step.counts,
        }
        for step in watch.steps
    ]
    return {
        "version": VERSION,
        "pid": os.getpid(),
        "rank": watch.rank,
        "world": watch.world,
        "phase": watch.phase,
        "failed": watch.failed,
        "seconds": time.perf_counter() - watch.began,
        "python": sys.executable,
        "script": _script(),
        "files": watch.files,
        "cpus": usable_cpus(),
        "torch": _torch(),
        "steps": steps,
        "optimizer_steps": watch.optimizer_steps,
        "lines": watch.lines.as_json(),
        "next": {"file": watch.feeding.place[0], "line": watch.feeding.place[1]},
        "origins": list(watch.feeding.origins),
        "loader": loader,
        "loader_failed": failed,
        "overhead_s": cost_s,
        "gpu_profile": watch.gpu_profile.summary,
        "gpu_profile_failed": watch.gpu_profile.failed,
        "recorded": {name: recorder.as_json() for name, recorder in watch.recorders.items()},
        "record_failed": {
            name: recorder.failed for name, recorder in watch.recorders.items() if recorder.failed
        },
        "layers": watch.layers.result,
        "layers_why": watch.layers.why,
        "observed": watch.observed.as_json() if _torch() is not None else None,
    }


def inspect_loader(
    watch: Watch, most_s: float, at_end: bool = False
) -> tuple[dict[str, Any] | None, str]:
    """Returns the loader's settings, its stages if they can be measured, and an error.

    Never raises.

    `at_end`: import nothing new. Otherwise Python would forget that Ctrl-C ended the script and
    exit with 1.
    """
    loader = watch.loader
    if loader is None:
        return None, ""
    out = loader_facts(loader)
    if most_s <= 0:
        return out, ""
    try:
        if loader_kind(loader) == "torch":
            from .loaders.dataset_profile import profile_dataset
            from .loaders.engine_rate import engine_rate
            from .loaders.time_limit import TooLong, at_most

            try:
                with at_most(_LIMIT_S + 10 * most_s):
                    out["samples"] = profile_dataset(loader, most_s)
            except TooLong as error:
                return out, str(error)
            out["engine"] = None if at_end else engine_rate(loader, most_s)
        elif hasattr(loader, "stats"):
            out["stats"] = {
                key: value
                for key, value in loader.stats().items()
                if isinstance(value, int | float)
            }
    except Exception as error:
        return out, f"{type(error).__name__}: {error}"
    return out, ""


def save(folder: str, values: dict[str, Any]) -> None:
    """Writes the file atomically. Does nothing if the folder is gone because the doctor was killed."""
    path = os.path.join(folder, f"{values['pid']}.json")
    with contextlib.suppress(OSError):
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(values, file)
        os.replace(path + ".new", path)


def _script() -> str:
    """Returns the path of the script for another command; "" for python -c and notebooks."""
    name = sys.argv[0].removeprefix(_FOLDER + os.sep) if sys.argv else ""
    return name if name.endswith(".py") else ""


def _torch() -> dict[str, Any] | None:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda"):
        return None
    gpu = torch.cuda.is_initialized() and torch.cuda.is_available()
    return {
        "version": str(torch.__version__),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if gpu else None,
    }
