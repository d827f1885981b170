"""Records the functions and files that an image passes: ./dev paths

A debugger stops a real run at the points below and records the stack, from our outermost function
inwards. The result is docs/internals/paths.json. tests/project/test_paths.py compares the walks of
docs/internals/follow-one-image.md with the result. The walk of a batch that a GPU decodes needs a
machine with a GPU; on other machines, that part of the file stays unchanged.
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

# Stops of each walk: what happens there, and the function.
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
}


def short(name: str) -> str:
    """Strips namespaces and template arguments: 'Ring::take'."""
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
    return steps


def main() -> None:
    pack, photos = Path(sys.argv[1]), Path(sys.argv[2])
    python = BUILD / "python"
    shutil.rmtree(python, ignore_errors=True)
    shutil.copytree(ROOT / "python", python, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(BUILD / "libtundish.so", python / "tundish")
    loop = [sys.executable, str(TOOLS / "one_batch.py"), str(pack)]
    environment = {"PYTHONPATH": str(python)}
    walks = json.loads(OUT.read_text()) if OUT.exists() else {}
    walks["cpu"] = record("cpu", loop, environment)
    if shutil.which("nvidia-smi") and "--no-gpu" not in sys.argv:
        walks["gpu"] = record("gpu", [*loop, "--gpu"], environment)
    with tempfile.TemporaryDirectory() as folder:
        program = [str(BUILD / "tundish"), "pack", str(photos), "-o", f"{folder}/x.tnd", "-j", "2"]
        walks["pack"] = record("pack", program, {})
    OUT.write_text(json.dumps(walks, indent=1) + "\n")
    for walk, steps in walks.items():
        files = {file for frames in steps.values() for _, file in frames}
        print(f"{walk}: {len(files)} files at {len(steps)} points")


if __name__ == "__main__":
    main()
