"""Runs the GPU checks and benchmarks, stage by stage.

    ./dev gpu run [STAGE...] [--out DIR]     needs a GPU with its driver, Python and torch

copies     page-locked batches and their copies (copies.py)
drop_in    tundish.accelerate(device="cuda") on a Python dataset, against pageable copies
           (drop_in.py)
loader     Loader(device="cuda") in every decoding mode (loader.py); its kernels (check_upload.cpp)
augment    random lists of transforms, on the GPU and on the CPU; images per second of four recipes
           (augment.py); bench gpu_augment: the kernels of each operation in isolation
decode     10,000 random shapes, samplings and crops, and every photo, on the GPU and on the CPU
hostile    every bit flip of 64 KiB of records, then 100,000 random changes, with correct checksums
sanitizer  compute-sanitizer: memcheck, racecheck and initcheck, 200 cases each
speed      bench gpu_decode: prepared batches, end to end, stages, the host's share; nvJPEG
feed       bench gpu_feed: training from packed photos against a batch that stays on the GPU
tune       steps of plans against the plain loop (tune.py), predicted memory (tune_memory.py), seeds
           (tune_seeds.py); identical twins recorded (bench/tune/twins.py). For the models, run
           ./dev bench tune, six minutes each
doctor     bench doctor: ten planted bottlenecks; the cause is named, the prediction holds. Layer
           times add up to the step's time, and their checks find planted models (layers.py); the
           timeline and memory (doctor_records.py)
optim      optimizers on the GPU and on the CPU (check_optim.cpp, optim.py); Muon against torch's
           (muon.py); bench optim: steps against torch's and timm's; a training step of ResNet-18
           against torch's fused SGD

Each stage takes under eight minutes. The log goes to DIR/gpu_STAGE.log, figures to
DIR/gpu_decode.json, gpu_feed.json, gpu_optim.json and gpu_copy.json; DIR defaults to bench/results.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 540.0  # seconds per command


class Stage:
    """One stage: runs commands, logs their output, counts failures."""

    def __init__(self, out: Path, name: str) -> None:
        self.out = out
        self.failed = 0
        out.mkdir(parents=True, exist_ok=True)
        self._log = (out / f"gpu_{name}.log").open("w")
        self.log(f"stage {name}")

    def log(self, text: str) -> None:
        print(text, flush=True)
        self._log.write(text + "\n")
        self._log.flush()

    def run(self, *command: str | Path) -> None:
        words = [Path(word).name if Path(word).is_absolute() else str(word) for word in command]
        self.log("$ " + " ".join(words))
        begin = time.monotonic()
        try:
            done = subprocess.run(
                [str(word) for word in command],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=LIMIT,
                cwd=ROOT,
            )
            text, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as late:
            text, code = str(late), 124
        self.log(text.rstrip())
        self.log(f"  {'ok' if code == 0 else f'FAILED ({code})'}, {time.monotonic() - begin:.0f} s")
        self.failed += code != 0


def program(name: str) -> Path:
    """Returns a built program, from the bundle or the checkout."""
    for folder in (ROOT / "bin", ROOT / "build/release"):
        if (folder / name).is_file():
            return folder / name
    sys.exit(f"gpu: {name} is not here; ./dev gpu bundle builds it, with nvcc")


def photos() -> Path:
    for file in (ROOT / "photos.tnd", ROOT / "build/gpu/photos.tnd"):
        if file.is_file():
            return file
    sys.exit("gpu: photos.tnd is not here; ./dev gpu bundle --data DIR makes it")


def copies(stage: Stage) -> None:
    stage.run(sys.executable, "-m", "tests.gpu.copies", "--out", stage.out / "gpu_copy.json")


def drop_in(stage: Stage) -> None:
    stage.run(sys.executable, "-m", "tests.gpu.drop_in", "--out", stage.out / "gpu_drop_in.json")


def loader(stage: Stage) -> None:
    stage.run(program("check_upload"), "2000", "1")
    packs = ["--pack", photos(), "--mixed", photos().with_name("mixed.tnd")]
    packs += ["--hostile", photos().with_name("hostile.tnd")]
    stage.run(
        sys.executable, "-m", "tests.gpu.loader", *packs, "--out", stage.out / "gpu_loader.json"
    )


def augment(stage: Stage) -> None:
    out = stage.out / "gpu_augment.json"
    stage.run(sys.executable, "-m", "tests.gpu.augment", "--pack", photos(), "--out", out)
    out = stage.out / "gpu_augment_kernels.json"
    stage.run(sys.executable, "-m", "bench.gpu_augment.run", "--out", out)


def decode(stage: Stage) -> None:
    stage.run(program("check_decode"), "random", "10000", "1")
    stage.run(program("check_decode"), "photos", photos(), "20")


def hostile(stage: Stage) -> None:
    stage.run(program("check_decode"), "flips", "65536", "2")
    stage.run(program("check_decode"), "hostile", "100000", "3")


def sanitizer(stage: Stage) -> None:
    if not shutil.which("compute-sanitizer"):
        stage.log("compute-sanitizer is not here: left out")
        return
    for tool in ("memcheck", "racecheck", "initcheck"):
        options = ["--error-exitcode", "9", "--tool", tool]
        stage.run("compute-sanitizer", *options, program("check_decode"), "random", "200", "4")
        stage.run("compute-sanitizer", *options, program("check_upload"), "40", "6")
        stage.run("compute-sanitizer", *options, program("check_optim"), "40", "7")
    options = ["--error-exitcode", "9", "--tool", "memcheck"]
    stage.run("compute-sanitizer", *options, program("check_decode"), "hostile", "200", "5")


def speed(stage: Stage) -> None:
    out = stage.out / "gpu_decode.json"
    stage.run(sys.executable, "-m", "bench.gpu_decode.run", "--pack", photos(), "--out", out)


def feed(stage: Stage) -> None:
    out = stage.out / "gpu_feed.json"
    stage.run(sys.executable, "-m", "bench.gpu_feed.run", "--pack", photos(), "--out", out)


def tune(stage: Stage) -> None:
    for module, out in (
        ("tests.gpu.tune", "gpu_tune.json"),
        ("tests.gpu.tune_memory", "gpu_tune_memory.json"),
        ("bench.tune.twins", "tune_twins.json"),
    ):
        stage.run(sys.executable, "-m", module, "--out", stage.out / out)
    stage.run(sys.executable, "-m", "tests.gpu.tune_seeds")


def doctor(stage: Stage) -> None:
    with tempfile.TemporaryDirectory() as folder:
        images = link_images(Path(folder), copies=10)
        ten = ["--plants", "all", "--strict", "--rounds", "0", "--data", images]
        one = ["--plants", "compute", "--rounds", "5", "--data", images]  # and the overhead
        for words, out in ((ten, "gpu_doctor.json"), (one, "gpu_doctor_overhead.json")):
            stage.run(sys.executable, "-m", "bench.doctor.run", *words, "--out", stage.out / out)
    stage.run(sys.executable, "-m", "tests.gpu.doctor_records", "--pack", photos())
    stage.run(sys.executable, "-m", "tests.gpu.layers", "--out", stage.out / "gpu_layers.json")


def link_images(folder: Path, copies: int) -> Path:
    """Links the photos into class folders, each photo several times."""
    (folder / "photos").mkdir()
    for photo in photos().with_name("photos").iterdir():
        for number in range(copies):
            (folder / "photos" / f"{number}-{photo.name}").symlink_to(photo)
    return folder


def optim(stage: Stage) -> None:
    out = stage.out / "gpu_optim_resnet18.json"
    stage.run(sys.executable, "-m", "bench.optim.resnet18_step", "--out", out)
    stage.run(program("check_optim"), "1000", "1")
    stage.run(sys.executable, "-m", "tests.gpu.optim", "--out", stage.out / "gpu_optim_checks.json")
    stage.run(sys.executable, "-m", "tests.gpu.muon")
    rivals = ROOT / "rivals"  # in a bundle; elsewhere timm is installed
    timm = ["--timm", rivals] if rivals.is_dir() else []
    words = ["--device", "cuda", *timm, "--out", stage.out / "gpu_optim.json"]
    stage.run(sys.executable, "-m", "bench.optim.run", *words)


STAGES: dict[str, Callable[[Stage], None]] = {
    "copies": copies,
    "drop_in": drop_in,
    "loader": loader,
    "augment": augment,
    "decode": decode,
    "hostile": hostile,
    "sanitizer": sanitizer,
    "speed": speed,
    "feed": feed,
    "tune": tune,
    "doctor": doctor,
    "optim": optim,
}


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(usage="./dev gpu run [STAGE...] [--out DIR]")
    parser.add_argument("stage", nargs="*", help=", ".join(STAGES))
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results")
    options = parser.parse_args(words)
    for name in options.stage:
        if name not in STAGES:
            parser.error(f"no stage is called '{name}'; there are: {', '.join(STAGES)}")
    failed = 0
    for name in options.stage or list(STAGES):
        stage = Stage(options.out.resolve(), name)
        STAGES[name](stage)
        failed += stage.failed
    print(f"{failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
