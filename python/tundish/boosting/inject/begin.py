"""Starts the changes of a boost in this process, before the script's first line or from the script."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import sys
from typing import Any

from .injector import Injector
from .request import VARIABLE, Request, read_request
from .survey import Survey, SurveyFacts


def begin_from_environment() -> None:
    """Called by sitecustomize.py in each Python process of the command."""
    begin(read_request(os.environ[VARIABLE]))


def begin(request: Request) -> Injector | None:
    """Returns the injector; None for a survey."""
    _find_package()
    if request.facts_folder and not request.changes:
        Survey(lambda facts: _write_survey(request, facts)).install()
        return None
    injector = Injector(request, lambda: _report(injector))
    injector.install()
    if request.facts_folder:
        atexit.register(_write_outcomes, injector)
    else:
        atexit.register(injector.finish)
    return injector


def _find_package() -> None:
    """Makes `import tundish` work if the script's Python lacks it: the package fits any Python."""
    if importlib.util.find_spec("tundish") is None:
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        sys.path.append(os.path.dirname(package))


def _report(injector: Injector) -> None:
    """Prints one line of what is active, or writes the outcomes of a trial."""
    if injector.request.facts_folder:
        _write_outcomes(injector)
        return
    missing = injector.missing()
    ways = injector.outcomes.ways
    made = [
        name + (f" by {ways[name]}" if name in ways else "") for name in injector.outcomes.made()
    ]
    if missing:
        names = ", ".join(identity.name for identity in missing)
        text = f"boost: {names} of {injector.request.source} was not found: the script has changed"
        text += "\n  fix: search again: tundish boost -f -- COMMAND"
    else:
        text = f"boost: active: {', '.join(made) or 'nothing'}"
    for name, reason in injector.outcomes.left_out().items():
        if not missing:
            text += f"\n  left out: {name}: {reason}"
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"tundish: {text}\n")


def _write_survey(request: Request, facts: SurveyFacts) -> None:
    _write(request.facts_folder, "survey", facts.as_json())


def _write_outcomes(injector: Injector) -> None:
    values = {
        "made": injector.outcomes.made(),
        "ways": injector.outcomes.ways,
        "left_out": injector.outcomes.left_out(),
        "missing": [identity.name for identity in injector.missing()],
        "loader": injector.loaders.report,
    }
    _write(injector.request.facts_folder, "outcomes", values)


def _write(folder: str, name: str, values: dict[str, Any]) -> None:
    """Writes a file per process. A process without a model or a loader writes nothing useful."""
    path = os.path.join(folder, f"{name}-{os.getpid()}.json")
    with contextlib.suppress(OSError):
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(values, file)
        os.replace(path + ".new", path)
