"""The environment of a trial: no trackers, compiled code kept between trials, writes redirected."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from .write_guard import guard_variables

# Experiment trackers that would upload the runs of trials.
_TRACKERS_OFF = {
    "WANDB_MODE": "disabled",
    "COMET_MODE": "disabled",
    "NEPTUNE_MODE": "debug",
    "CLEARML_OFFLINE_MODE": "1",
    "DVCLIVE_TEST": "1",
    "AIM_DISABLE": "1",
    "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": "false",
    "TRACKIO_MODE": "disabled",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}


def trial_environment(shared: Path, folder: Path, allowed: Iterable[str] = ()) -> dict[str, str]:
    """`shared`: a folder of all trials; `folder`: the folder of this trial.

    `allowed`: more folders in which the trial may write. Raises MissingError without the guard.
    """
    compiled = shared / "compiled"
    compiled.mkdir(exist_ok=True)
    variables = dict(_TRACKERS_OFF)
    variables["MLFLOW_TRACKING_URI"] = (folder / "mlflow").as_uri()
    variables["TORCHINDUCTOR_CACHE_DIR"] = os.environ.get("TORCHINDUCTOR_CACHE_DIR", str(compiled))
    variables["PYTHONUNBUFFERED"] = "1"
    return variables | guard_variables(shared, folder, allowed)
