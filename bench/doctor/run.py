"""Does the doctor name the planted cause, does its prediction hold, what does measuring cost?

Each script of plants.py has one planted bottleneck and runs under the doctor. The doctor predicts the
step time after the change that removes the bottleneck. Then the change is made, by hand or by the
doctor (as with --apply), and the step is measured. The overhead is the difference between the same
script with and without the doctor, in turns, with a step of 20 ms. Its interval is the 95 % interval
of the median.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tundish.diagnosis.cli.doctor_verb import command_verdict
from tundish.diagnosis.probe.settings import Settings
from tundish.diagnosis.process.command import Surroundings, run
from tundish.diagnosis.verdict.changes import Change
from tundish.diagnosis.verdict.verdict import Verdict

from ..common.images import make_samples
from ..common.rounds import interval
from ..common.rows import ROOT, Rows, arguments, say, table
from .plants import ON_GPU, PLANTS

# For each plant: the change that removes it, and the correct causes.
CHANGES: dict[str, Callable[[Change], bool]] = {
    "storage": lambda one: one.what.startswith("read faster"),
    "decode": lambda one: one.apply == "accelerate",
    "transform": lambda one: one.what.startswith("a cheaper transform"),
    "workers": lambda one: one.apply.startswith("workers="),
    "host": lambda one: "outside the model" in one.what,
    "straggler": lambda one: one.what.startswith("rank 1"),
    "copy": lambda one: one.what.startswith("copies from pinned memory"),
    "sync": lambda one: one.what.startswith("no wait for the GPU"),
    "launch": lambda one: one.what.startswith("fewer, longer kernels"),
}
# Without these plants, there is no optimizer.step() that the doctor could watch. The script measures
# its own time instead.
TIMES_ITSELF = ("launch",)
PROMISED = 0.15  # allowed error of a prediction, relative to the step time


def command_of(name: str, folder: Path, *more: str) -> list[str]:
    return [sys.executable, "-W", "ignore", "-m", "bench.doctor.plants", name, str(folder), *more]


def judged(name: str, folder: Path, removed: bool, **settings: Any) -> Verdict:
    more = ["--removed"] if removed else []
    wanted = Settings(layers=0, **settings)  # layers are measured by other benchmarks
    ended = run(command_of(name, folder, *more), wanted, Surroundings(stdout_to_stderr=True))
    return command_verdict(ended)


def check(name: str, folder: Path, rows: Rows) -> list[str]:
    """Returns a row of the table: the plant, the cause, the prediction and the measured step time."""
    before = judged(name, folder, False)
    if before.cause is None or before.figures is None:
        rows.note(name, "cause", before.sentence)
        return [name, "none", "", "", before.sentence]
    right = before.cause.name == name
    more = {"cause": before.cause.name, "right": right, "sentence": before.sentence}
    step = before.figures.step_s
    rows.add(name, "step", [step * 1e3], "ms", **more)
    words = [name, before.cause.name + ("" if right else " (wrong)"), f"{step * 1e3:.1f}"]
    wanted = CHANGES.get(name)
    change = next((one for one in before.changes if wanted and wanted(one)), None)
    if change is None or change.predicted_s is None:
        rows.note(name, "prediction", "no change has a predicted step")
        return [*words, "", "", ""]
    after_s = step_after(name, folder, before, change)
    off = after_s / change.predicted_s - 1
    rows.add(name, "predicted", [change.predicted_s * 1e3], "ms", change=change.what)
    rows.add(name, "measured after", [after_s * 1e3], "ms", off=round(off, 4))
    words += [f"{change.predicted_s * 1e3:.1f}", f"{after_s * 1e3:.1f}"]
    return [*words, f"{off:+.1%}" + ("" if abs(off) <= PROMISED else " (too far)")]


def step_after(name: str, folder: Path, before: Verdict, change: Change) -> float:
    """Returns the step time in seconds after the change."""
    if name in TIMES_ITSELF:
        line = command_of(name, folder, "--removed", "--steps", "300")
        done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=True)
        return float(done.stdout.split()[-2])
    loader = before.facts.loader
    dataset = (loader.dataset if loader else None) or ""
    tried = {"apply": change.apply, "apply_to": dataset} if change.apply else {}
    after = judged(name, folder, not change.apply, **tried)
    assert after.figures is not None, after.sentence
    return after.figures.step_s


def overhead(folder: Path, rounds: int, rows: Rows) -> str:
    """Compares a script with 20 ms steps, watched all the time, with the same script unwatched."""
    plain = command_of("none", folder, "--steps", "60")
    doctor = [sys.executable, "-m", "tundish", "doctor", "-q", "--to-end", "--steps", "100000"]
    ratios, added = [], []
    for number in range(rounds + 1):
        seconds = {}
        lines = [plain, [*doctor, "--", *plain]]
        for line in lines if number % 2 else reversed(lines):
            done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, check=True)
            seconds[line is plain] = [float(word) for word in done.stdout.split()[-2:]]
        if number:  # the first round does not count
            (wall, cpu), (plain_wall, plain_cpu) = seconds[False], seconds[True]
            ratios.append(wall / plain_wall)
            added.append(1 + (cpu - plain_cpu) / plain_wall)
    texts = []
    for name, values in (("wall time", ratios), ("CPU time", added)):
        sure = interval(values)
        between = {"low": round(sure.low, 5), "high": round(sure.high, 5)}
        rows.add("doctor", f"overhead, {name}", values, "x", **between)
        texts.append(f"{sure.percent()} {name}")
    return ", ".join(texts)


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=7)
    choices = ["all", *PLANTS, *ON_GPU]
    parser.add_argument("--plants", nargs="+", choices=choices, default=PLANTS)
    parser.add_argument("--strict", action="store_true", help="exit with 1 for a wrong cause")
    asked = parser.parse_args()
    work = asked.work or ROOT / "build" / "bench" / "doctor"
    folder = Path(asked.data) if asked.data else work / "samples"
    if not asked.data and not folder.is_dir():
        make_samples(folder, 1000)
    rows = Rows("doctor", "torchvision")
    say(rows.heading())
    lines = []
    for name in [*PLANTS, *ON_GPU] if "all" in asked.plants else asked.plants:
        lines.append(check(name, folder, rows))
        say("  ".join(lines[-1]))
        rows.write(asked.out, quiet=True)
    if asked.rounds:
        say(f"measuring adds {overhead(folder, asked.rounds, rows)} to a step of 20 ms")
    rows.write(asked.out)
    head = ["plant", "cause", "step ms", "predicted ms", "measured ms", "off"]
    print(table(head, lines))
    wrong = [one for one in lines if "wrong" in one[1] or "too far" in one[-1] or one[1] == "none"]
    if asked.strict and wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
