"""How much faster does `tundish boost` make a script, and does its prediction hold?

The search runs first. Then the plain script and `tundish run --boost` train in turn for the same
number of steps; each prints its own rate. Ratios are within a round.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tundish.report.chart import Bar, bar_chart

from ..common.images import prepare
from ..common.rounds import interval
from ..common.rows import ROOT, Rows, arguments, say, table

TUNDISH = ROOT / ".venv" / "bin" / "tundish"
SCRIPTS = ROOT / "bench" / "boost" / "scripts"


def rate(argv: list[str]) -> float:
    """Runs a command that prints "images/s NUMBER" and returns the number."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(argv[:4])} failed: {done.stderr[-2000:]}")
    line = next(line for line in done.stdout.splitlines() if line.startswith("images/s"))
    return float(line.split()[1])


def search(command: list[str], result: Path, minutes: float) -> tuple[dict[str, Any], float]:
    """Returns the result of the search and its duration in seconds."""
    begin = time.perf_counter()
    options = ["--json", "-f", "-o", str(result), "--minutes", str(minutes)]
    done = subprocess.run(
        [str(TUNDISH), "boost", *options, "--", *command], stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout), time.perf_counter() - begin


def image_folder(images: Path, folder: Path, classes: int = 10) -> Path:
    """Divides the images into folders, one per class, as ImageFolder reads them."""
    shutil.rmtree(folder, ignore_errors=True)
    files = sorted(path for path in images.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    for number, path in enumerate(files):
        kind = folder / str(number % classes)
        kind.mkdir(parents=True, exist_ok=True)
        (kind / f"{number}.jpg").symlink_to(path.resolve())
    return folder


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=3)
    parser.add_argument("--script", default="naive", help="a script of bench/boost/scripts (naive)")
    parser.add_argument("--steps", type=int, default=60, help="steps of each measured run (60)")
    parser.add_argument("--minutes", type=float, default=4.0, help="limit of the search (4)")
    options = parser.parse_args()
    rows = Rows("boost", "torchvision")
    work = options.work or ROOT / "build" / "bench" / "boost"
    images = prepare(options.data, work, 256, 0)
    rows.set_data(images.about, images.name, images.digest)
    folder = image_folder(Path(images.folder), work / "classes")
    script = [sys.executable, str(SCRIPTS / f"{options.script}.py"), str(folder)]
    result = work / "boost.json"
    found, seconds = search([*script, "100000"], result, options.minutes)
    say(f"search: {seconds:.0f} s, {[change['name'] for change in found['changes']]}")
    plain, boosted = [], []
    steps = str(options.steps)
    for number in range(options.rounds):
        plain.append(rate([*script, steps]))
        run = [str(TUNDISH), "run", "--boost", str(result), "--", *script, steps]
        boosted.append(rate(run))
        say(f"round {number + 1}: {plain[-1]:.1f} and {boosted[-1]:.1f} images/s")
    gains = [two / one for one, two in zip(plain, boosted)]
    ratio = interval(gains)
    names = ", ".join(change["name"] for change in found["changes"])
    rows.add(options.script, "rate", plain, "images/s", what="plain")
    rows.add(options.script, "rate", boosted, "images/s", what=f"boosted: {names}")
    gain = rows.add(options.script, "gain", gains, "x", low=ratio.low, high=ratio.high)
    rows.add(options.script, "predicted gain", [found["gain"]], "x")
    rows.add(options.script, "search", [seconds], "s")
    print(rows.heading())
    lines = [
        ["plain", f"{min(plain):.0f} to {max(plain):.0f} images/s"],
        ["boosted", f"{min(boosted):.0f} to {max(boosted):.0f} images/s"],
        ["gain", f"{gain:.2f}x ({ratio.low:.2f} to {ratio.high:.2f})"],
        ["predicted", f"{found['gain']:.2f}x ({found['gain'] / gain - 1:+.0%})"],
        ["changes", names],
        ["search", f"{seconds:.0f} s"],
    ]
    print(table(["what", "value"], lines))
    middle = sorted(plain)[len(plain) // 2], sorted(boosted)[len(boosted) // 2]
    bars = [
        Bar("plain", middle[0], f"{middle[0]:.0f}"),
        Bar("boosted", middle[1], f"{middle[1]:.0f}", True),
    ]
    rows.write(options.out, bar_chart([("images per second", bars)], "images per second", left=120))


if __name__ == "__main__":
    main()
