"""How long does the start take? Times the import, the program's help, and the first batch."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

from tundish.report.chart import Bar, bar_chart

from ..common.images import TUNDISH, Images, prepare
from ..common.rows import ROOT, Rows, arguments, say, table

IMPORT = """
import time, numpy
begin = time.perf_counter()
import tundish
print(time.perf_counter() - begin)
"""

IMPORT_LOADER = IMPORT.replace("import tundish", "from tundish import Loader, transforms")

# Runs in a process that has already imported torch and tundish, like a training script.
FIRST_BATCH = """
import sys, time, torch, tundish
from tundish import transforms as T
torch.zeros(1)
begin = time.perf_counter()
transforms = [T.RandomResizedCrop(224), T.RandomHorizontalFlip()]
loader = tundish.Loader(sys.argv[1], 64, transforms=transforms, shuffle=True)
made = time.perf_counter() - begin
batch = next(iter(loader))
print({what})
"""


def python(code: str, *words: str) -> float:
    """Runs code in a new interpreter and returns the number that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    return float(done.stdout)


def program(*words: str) -> float:
    """Returns the seconds from the start of the program to its end."""
    begin = time.perf_counter()
    subprocess.run([TUNDISH, *words], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


ENVIRONMENT = {"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"}


def questions(images: Images) -> dict[str, Callable[[], float]]:
    pack = str(images.pack)
    return {
        "import tundish, after numpy": lambda: python(IMPORT),
        "import Loader and transforms, after numpy": lambda: python(IMPORT_LOADER),
        "tundish --help": lambda: program("--help"),
        "tundish info": lambda: program("info", pack),
        "Loader(...)": lambda: python(FIRST_BATCH.format(what="made"), pack),
        "Loader(...) to the first batch": lambda: python(
            FIRST_BATCH.format(what="time.perf_counter() - begin"), pack
        ),
    }


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=15)
    parser.add_argument(
        "--cached", action="store_true", help="do not repeat the set beyond the last-level cache"
    )
    options = parser.parse_args()
    rows = Rows("start")
    work = options.work or ROOT / "build" / "bench" / "start"
    images = prepare(options.data, work, 256, 0 if options.cached else None)
    rows.set_data(images.about, images.name, images.digest)
    asked = questions(images)
    runs: dict[str, list[float]] = {name: [] for name in asked}
    for number in range(options.rounds + 1):  # round 0 warms the page cache and does not count
        for name, ask in asked.items():
            seconds = ask()
            if number > 0:
                runs[name].append(seconds)
    say(f"{options.rounds} interleaved rounds after one that does not count")
    lines, bars = [], []
    for name, seconds in runs.items():
        median = 1000 * rows.add(name, "time", seconds, "s")
        lines.append(
            [name, f"{median:.1f}", f"{1000 * min(seconds):.1f}", f"{1000 * max(seconds):.1f}"]
        )
        bars.append(Bar(name, median, f"{median:.1f} ms", True))
    print(f"page cache warm; {images.about}\n{rows.heading()}\n")
    print(table(["what", "median ms", "min", "max"], lines))
    rows.write(
        options.out, bar_chart([("milliseconds", bars)], "milliseconds of each start", left=270)
    )


if __name__ == "__main__":
    main()
