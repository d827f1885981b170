"""Records walks through the code: which functions an image, a verdict and a trial pass. ./dev paths

A debugger stops a real run at the points below and records the stack, from our outermost function
inwards. The result is written to docs/internals/paths.json. tests/project/test_paths.py compares it
with the walks in docs/internals/follow-one-image.md. The walk of a batch that a GPU decodes needs a
machine with a GPU. On other machines, that part of the file stays unchanged.

The walks of a verdict (`tundish doctor`) and of a trial (`tundish tune`) only pass Python code. A
profile function writes their stacks, even in the processes of trials. These walks are described in
docs/internals/follow-one-verdict.md. `--python` records only these.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "docs/internals/paths.json"
BUILD = ROOT / "build/paths"
TOOLS = Path(__file__).parent

# The stops of each walk: (what happens there, function).
POINTS = {
    "cpu": [
        ("take", "tundish::Ring::take"),
        ("read", "tundish::Pack::read_piece"),
        ("plan", "tundish::View::crop"),
        ("decode", "tundish::lanes::decode_units_avx2"),
        ("decode", "tundish::lanes::decode_units_avx512"),
        ("store", "tundish::Store::row"),
        ("deliver", "tundish::Engine::Shared::deliver"),
    ],
    "gpu": [
        ("take", "tundish::Ring::take"),
        ("read", "tundish::Pack::read_piece"),
        ("plan", "tundish::View::crop"),
        ("gather", "tundish::cuda::BatchPlan::add"),
        ("deliver", "tundish::Engine::Shared::deliver"),
        ("enqueue", "tundish::cuda::decode_units"),
        ("store", "tundish::cuda::make_output"),
    ],
    "pack": [
        ("read", "tundish::read_file"),
        ("take apart", "tundish::lanes::Transcoder::transcode"),
        ("encode", "tundish::lanes::UnitEncoder::encode"),
        ("append", "tundish::ByteAppender::put"),
    ],
    "step": [
        ("states", "tundish_entries_match"),
        ("gradients", "tundish::(anonymous namespace)::is_like"),
        ("update", "tundish::optim::(anonymous namespace)::adam"),
    ],
}

DOCTOR, TUNING = "python/tundish/diagnosis", "python/tundish/tuning"
# The stops of the walks in Python: (what happens there, file, function, a caller of the function).
PYTHON_POINTS = {
    "verdict": [
        ("read", f"{DOCTOR}/facts_file.py", "parse_facts", ""),
        ("figures", f"{DOCTOR}/verdict/figures.py", "_parts", ""),
        ("loading", f"{DOCTOR}/verdict/loading.py", "_sampled", ""),
        ("cause", f"{DOCTOR}/verdict/cause.py", "_cause_on_gpu", ""),
        ("changes", f"{DOCTOR}/verdict/loading.py", "Loading.step_with", "find_changes"),
        ("lines", f"{DOCTOR}/verdict/line_costs.py", "line_costs", "find_changes"),
        ("checks", f"{DOCTOR}/rules/runtime/more_workers_than_cpus.py", "find", ""),
        ("text", f"{DOCTOR}/report/verdict_text.py", "_changes", ""),
        ("print", "python/tundish/_cli/terminal.py", "write_stderr", ""),
    ],
    "trial": [
        ("start", "python/tundish/child_python.py", "child_command", "TrialPool.start"),
        ("send", f"{TUNING}/trials/trial.py", "TrialProcess.send", "TrialPool.start"),
        ("build", f"{TUNING}/job.py", "check_devices", "Trial.prepare"),
        ("apply", f"{TUNING}/step.py", "Step.reset", "Trial.prepare"),
        ("train", f"{TUNING}/batch_structure.py", "map_tensors", "Trial._one"),
        ("receive", f"{TUNING}/trials/trial.py", "TrialProcess.receive", "TrialPool.outcome"),
        ("ask", f"{TUNING}/trials/trial.py", "TrialProcess.ask", "TrialPool.measure"),
        ("turn", f"{TUNING}/step.py", "Step.update", "Trial.turn"),
    ],
}


def short(name: str) -> str:
    """Removes namespaces and template arguments, as in 'Ring::take'."""
    name = re.sub(r"<.*", "", name)
    return re.sub(r"^(tundish::|lanes::|cuda::|\(anonymous namespace\)::)+", "", name)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def record(walk: str, command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    debugger = shutil.which("gdb") or shutil.which("cuda-gdb")  # CUDA includes cuda-gdb
    if debugger is None:
        sys.exit("paths: needs gdb")
    with tempfile.TemporaryDirectory() as folder:
        stacks, python = Path(folder, "stacks"), Path(folder, "python")
        more = {
            "ROOT": str(ROOT),
            "STACKS": str(stacks),
            "PYTHON_STACKS": str(python),
            "POINTS": json.dumps(POINTS[walk]),
        }
        script = ["-nx", "-batch", "-x", str(TOOLS / "gdb_stacks.py"), "--args"]
        done = subprocess.run(
            [debugger, *script, *command],
            env={**os.environ, **environment, **more},
            capture_output=True,
            text=True,
            timeout=500,
        )
        outer = {one["step"]: one["frames"] for one in lines_of(python)}
        steps: dict[str, list[list[str]]] = {}
        for one in lines_of(stacks):
            frames = [[short(name), file] for name, file in one["frames"]]
            frames = [f for f in frames if f[0] and not f[0].startswith("operator")]
            steps.setdefault(one["step"], outer.get(one["step"], []) + frames)
    missing = {step for step, _ in POINTS[walk]} - steps.keys()
    if missing:
        sys.exit(f"paths: {walk}: never came to {sorted(missing)}\n{done.stdout}\n{done.stderr}")
    return {**outer, **steps}  # includes steps that do not call the engine, in the walk's order


def record_python(walk: str, script: str, *arguments: str) -> tuple[dict[str, Any], list[str]]:
    """Records a walk in Python. Returns the stacks by step, and all files whose functions ran."""
    with tempfile.TemporaryDirectory() as folder:
        stacks = Path(folder, "stacks")
        more = {"STACKS": str(stacks), "POINTS": json.dumps(PYTHON_POINTS[walk])}
        line = [sys.executable, str(TOOLS / script), *arguments]
        environment = {**os.environ, **more, "PYTHONPATH": str(TOOLS)}
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=500)
        lines = lines_of(stacks)
    found: dict[str, Any] = {}
    for one in lines:
        if "step" in one:
            found.setdefault(one["step"], one["frames"])
    steps = {step: found[step] for step, *_ in PYTHON_POINTS[walk] if step in found}
    missing = [step for step, *_ in PYTHON_POINTS[walk] if step not in found]
    if missing:
        sys.exit(f"paths: {walk}: never came to {missing}\n{done.stdout}\n{done.stderr}")
    return steps, sorted({one["file"] for one in lines if "file" in one})


def record_python_walks(walks: dict[str, Any]) -> None:
    walks["verdict"], ran = record_python("verdict", "one_verdict.py")
    # Each check is one file. The static checks are left out, because their number may change.
    outside = (f"{DOCTOR}/rules/", f"{DOCTOR}/lint/")
    walks["verdict files"] = [file for file in ran if not file.startswith(outside)]
    with tempfile.TemporaryDirectory() as folder:
        walks["trial"], _ = record_python("trial", "one_trial.py", folder)


def main() -> None:
    walks = json.loads(OUT.read_text()) if OUT.exists() else {}
    if "--python" not in sys.argv:
        record_image_walks(walks)
    record_python_walks(walks)
    OUT.write_text(json.dumps(walks, indent=1) + "\n")
    for walk, steps in walks.items():
        if isinstance(steps, dict):
            files = {file for frames in steps.values() for _, file in frames}
            print(f"{walk}: {len(files)} files at {len(steps)} points")


def record_image_walks(walks: dict[str, Any]) -> None:
    pack, photos = Path(sys.argv[1]), Path(sys.argv[2])
    python = BUILD / "python"
    shutil.rmtree(python, ignore_errors=True)
    shutil.copytree(ROOT / "python", python, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(BUILD / "libtundish.so", python / "tundish")
    loop = [sys.executable, str(TOOLS / "one_batch.py"), str(pack)]
    environment = {"PYTHONPATH": str(python)}
    walks["cpu"] = record("cpu", loop, environment)
    if shutil.which("nvidia-smi") and "--no-gpu" not in sys.argv:
        walks["gpu"] = record("gpu", [*loop, "--gpu"], environment)
    walks["step"] = record("step", [sys.executable, str(TOOLS / "one_step.py")], environment)
    with tempfile.TemporaryDirectory() as folder:
        program = [str(BUILD / "tundish"), "pack", str(photos), "-o", f"{folder}/x.tnd", "-j", "2"]
        walks["pack"] = record("pack", program, {})


if __name__ == "__main__":
    main()
