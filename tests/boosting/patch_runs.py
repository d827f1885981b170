"""Runs scripts, surveys them, and applies patches, all in this process."""

import os
import runpy
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from tundish.boosting.inject.survey import Survey
from tundish.boosting.patch import write_patch
from tundish.boosting.search.results import BoostResult, Measured

ZERO = Measured(1.0, 1.0, 0.0, 0, 0)


def result_of(script, facts, changes):
    """Returns the result of a boost that keeps `changes`: names, or NAME=VALUE."""
    kept = [dict(zip(("name", "value"), (*one.split("=", 1), ""))) for one in changes]
    return BoostResult(
        *([], str(script), "", facts.device, ZERO, ZERO, 1.0, ""),
        changes=kept,
        survey=facts.as_json(),
    )


@contextmanager
def _script_process(script):
    """Makes sys.path, sys.argv and sys.modules those of a script. Restores them and torch's flags."""
    path, argv, modules = list(sys.path), list(sys.argv), set(sys.modules)
    matmul, cudnn = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.benchmark
    folder, written = os.getcwd(), sys.dont_write_bytecode
    sys.path.insert(0, str(script.parent))
    sys.argv = [str(script)]
    sys.dont_write_bytecode = True
    os.chdir(script.parent)
    try:
        torch.manual_seed(1)
        yield
    finally:
        os.chdir(folder)
        sys.path[:], sys.argv[:], sys.dont_write_bytecode = path, argv, written
        for name in set(sys.modules) - modules:
            module = sys.modules[name]
            files = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", [])]
            if any(file.startswith(str(script.parent)) for file in files):
                del sys.modules[name]
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.benchmark = matmul, cudnn


def run_script(script):
    with _script_process(script):
        return runpy.run_path(str(script), run_name="__main__")


def survey_script(script):
    """Returns the facts of the survey and the globals of the script."""
    found = []
    survey = Survey(found.append)
    survey.install()
    try:
        values = run_script(script)
    finally:
        survey.uninstall()
    return found[0], values


@dataclass
class Patched:
    before: dict
    after: dict
    patch: object
    text: str  # of the patched script


def write_files(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / next(iter(files))


def git(folder, *arguments):
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def patched_run(folder, files, changes, facts_change=None):
    """Surveys the first file, applies the patch with git, and runs the script again."""
    script = write_files(folder, files)
    git(folder, "init", "-q")
    facts, before = survey_script(script)
    if facts_change is not None:
        facts_change(facts)
    patch = write_patch(result_of(script, facts, changes), folder)
    apply_patch(folder, patch)
    after = run_script(script)
    return Patched(before, after, patch, script.read_bytes().decode(errors="replace"))


def apply_patch(folder: Path, patch):
    file = folder.parent / f"{folder.name}.diff"
    file.write_bytes(patch.data)
    dry = ["patch", "-p1", "--dry-run", "-i", str(file)]
    done = subprocess.run(dry, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fuzz" not in done.stdout
    git(folder, "apply", str(file))
