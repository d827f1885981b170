"""How long does one operation on one 224x224 image take on one core? --recipes: whole recipes.

Before anything is timed, our pixels must equal the pixels of torchvision on PIL images. Then the
contestants take turns for every operation in every round. Every contestant draws the random values of
a transform before the clock starts.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from ..common import peers
from ..common.images import Images, prepare
from ..common.rows import ROOT, Rows, arguments, say
from . import recipes
from .contestants import CONTESTANTS, PEERS, REFERENCE, Player, Players
from .operations import OPERATIONS, SIDE, Operation
from .report import Result, chart, report

PICTURES = 8


def pictures(images: Images, count: int = PICTURES) -> np.ndarray:
    """Returns center crops of some images."""
    files = images.files[:: max(1, len(images.files) // count)][:count]
    out = []
    for file in files:
        with Image.open(file) as image:
            fitted = ImageOps.fit(image.convert("RGB"), (SIDE, SIDE), Image.Resampling.BICUBIC)
        out.append(np.asarray(fitted))
    return np.stack(out)


def compare(operation: Operation, ours: bool, result: np.ndarray, other: np.ndarray) -> Result:
    """Compares pixels. Returns a comment, and whether the pixels are wrong."""
    away = np.abs(result.astype(np.int16) - other)
    mean, most = float(away.mean()), int(away.max())
    said = "exact" if most == 0 else f"MAD {mean:.3g}, max {most}"
    return Result(said, wrong=ours and most > operation.off)


def compare_noise(ours: bool, result: np.ndarray, other: np.ndarray, before: np.ndarray) -> Result:
    """Compares the mean and deviation of independent random noise, including clipped levels."""
    mine, theirs = (one.astype(np.int16) - before for one in (result, other))
    said = f"mean {mine.mean():.2f}, deviation {mine.std():.2f}"
    off = abs(mine.mean() - theirs.mean()) > 0.3 or abs(mine.std() / theirs.std() - 1) > 0.02
    return Result(said, wrong=ours and bool(off))


def judge(
    players: list[Player], operation: Operation, before: np.ndarray, work: Path
) -> dict[str, Result]:
    """Returns the results by contestant. Omits contestants without the operation."""
    kept = work / "kept.raw"
    results = {player.who.name: player.results(operation, kept) for player in players}
    kept.unlink(missing_ok=True)
    if not operation.compared:
        return {name: Result("not compared") for name, one in results.items() if one is not None}
    # torchvision's GaussianNoise rejects PIL images.
    other = results.get("torchvision, tensors" if operation.random else REFERENCE)
    if other is None:
        raise SystemExit(f"bench: {operation.name}: nobody to compare with")
    out = {}
    for name, result in results.items():
        ours = name.startswith("tundish")
        if result is None:
            continue
        if operation.random:
            out[name] = compare_noise(ours, result, other, before)
        else:
            out[name] = compare(operation, ours, result, other)
    return out


def race(
    players: list[Player],
    operations: list[Operation],
    results: dict[str, dict[str, Result]],
    parts: dict[str, list[float]],
    milliseconds: float,
) -> None:
    """Runs one round. Adds the times to the results, and times without an operation to `parts`."""
    for operation in operations:
        for player in players:
            result = results[operation.name].get(player.who.name)
            if result is None or result.wrong:
                continue
            us = player.us(operation, milliseconds)
            assert us is not None
            result.us.append(us)
    for player in players:
        if player.who.part:
            parts.setdefault(player.who.name, []).append(player.part_us(milliseconds))


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=9)
    names = [operation.name for operation in OPERATIONS]
    parser.add_argument(
        "--recipes",
        nargs="*",
        choices=recipes.RECIPES,
        metavar="NAME",
        help="whole recipes, loader against loader: " + ", ".join(recipes.RECIPES),
    )
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="OPERATION")
    parser.add_argument("--milliseconds", type=float, default=20, help="of a turn, at least (20)")
    parser.add_argument("--images", type=int, default=1000, help="least images of a recipe (1000)")
    parser.add_argument("--peers", action="store_true", help="install the rivals first")
    parser.add_argument(
        "--cached", action="store_true", help="do not repeat the set beyond the last-level cache"
    )
    options = parser.parse_args()
    work = options.work or ROOT / "build" / "bench" / "augment"
    if options.recipes is not None:
        recipes.run(options, work)
        return
    if options.peers:
        peers.install_all(PEERS)
    images = prepare(options.data, work, 1, 0, codecs=())
    core = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    before = pictures(images)
    before.tofile(work / "pictures.raw")
    operations = [one for one in OPERATIONS if one.name in options.only]
    with Players(CONTESTANTS, work / "pictures.raw") as contest:
        players, refused = contest.players, contest.refused
        say("comparing pixels with torchvision's on PIL images")
        results = {one.name: judge(players, one, before, work) for one in operations}
    parts: dict[str, list[float]] = {}
    who = [player.who for player in players]
    for number in range(options.rounds):
        say(f"timing on core {core}, round {number + 1} of {options.rounds}")
        # New processes in each round, because the memory layout affects some times. Each round starts
        # with another contestant.
        turn = number % len(who)
        with Players([*who[turn:], *who[:turn]], work / "pictures.raw") as contest:
            race(contest.players, operations, results, parts, options.milliseconds)
    versions = {name: text for p in players for name, text in p.versions.items()}
    rows = Rows("augment", more=versions)
    rows.set_data(f"{images.about}; {len(before)} of them", images.name, images.digest)
    names = [one.name for one in who]
    print(report(rows, operations, results, parts, names, refused))
    rows.write(options.out, chart(operations, results, names))


if __name__ == "__main__":
    main()
