"""The second half of `tundish demo`: compares loaders, trains a small network and writes a page.

The first half is C++ code. It creates, packs and verifies a dataset in a folder and then calls
`python -m tundish demo-page --work FOLDER`. FOLDER contains:

    demo.json   {"pack": "...", "folder": "...", "steps": [["packing", "what was done"], ...]}
                "pack" is a file in FOLDER. "folder" is the folder with the images as loose files: relative to
                FOLDER if the demo made it, absolute if the user gave it, null if the images came from an archive.
                Without demo.json, the only .tnd file in FOLDER is used.

This half writes `report.html` into FOLDER, which must contain the marker file that the first half wrote. Results go
to stdout, and messages go to stderr.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tundish

from .._c.errors import Error
from .._cli.arguments import Arguments, Options, VerbHelp
from .._cli.error_output import UsageError
from .._cli.exit_codes import OK
from .._cli.json_output import json_text
from .._cli.option_values import positive_number, whole_number
from .._cli.terminal import write_stdout
from .._cli.verb import run_verb
from ..program import find_program
from ..report.machine import machine, versions
from . import diagnose, train
from . import torch_comparison as compare
from .diagnose import Diagnosis
from .torch_comparison import OURS, THEIRS, Rates
from .train import Training

_ENDINGS = (".jpg", ".jpeg", ".png")
_MARKER = "made-by-tundish-demo.txt"  # same name as in src/cli/samples/demo_folder.h


@dataclass
class DemoReport:
    """The data for the summary on the terminal and for the HTML page."""

    pack: str
    images: int
    bytes: int
    steps: list[tuple[str, str]] = field(default_factory=list)  # (label, text) of each step so far
    rates: Rates = field(default_factory=dict)
    training: Training | None = None
    doctor: dict[str, Diagnosis] = field(default_factory=dict)  # keys: "before" and "after"
    machine: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


def _arguments() -> Arguments:
    text = "The second half of tundish demo, which calls it: compares loaders, writes a page."
    json_keys = """{pack, images, bytes, images_per_s, speedup, training, doctor, machine, versions,
page}, on one line"""
    arguments = Arguments(
        VerbHelp(
            verb="demo-page",
            usage="--work FOLDER [options]",
            examples="tundish demo",
            text=text,
            json=json_keys,
            exit_codes="0 done, 1 failed, 2 wrong use, 130 interrupted",
        ),
        check=_check_options,
    )
    arguments.option("--work", "FOLDER", "folder with the pack and the images")
    about = "length of each timed run (2.5)"
    arguments.option("--seconds", "SECONDS", about, positive_number(), 2.5)
    about = "timed runs of each loader (3)"
    arguments.option("--rounds", "N", about, whole_number(1, 1000), 3)
    about = "training steps; 0: enough for the dataset (0)"
    arguments.option("--steps", "N", about, whole_number(0, 10**9), 0)
    return arguments


def _check_options(options: Options) -> None:
    if not options.work:
        raise UsageError("--work FOLDER is missing")


ARGUMENTS = _arguments()


def main(argv: Sequence[str]) -> int:
    """Runs the verb with the arguments after its name and returns the exit code."""
    return run_verb(ARGUMENTS, argv, _run)


def _run(options: Options) -> int:
    work = Path(options.work)

    def show(label: str, text: str) -> None:
        if not options.quiet:
            print(f"  {label:<9} {text}", file=sys.stderr, flush=True)

    pack, folder, steps = _find(work)
    data = tundish.Dataset(pack)
    report = DemoReport(pack.name, len(data), pack.stat().st_size, steps, machine=machine())
    files = sorted(str(f) for f in folder.rglob("*") if f.suffix.lower() in _ENDINGS)

    show("timing", "RandomResizedCrop(224) + flip, one core and all cores, interleaved")
    report.rates = compare.compare(
        str(pack), files, lambda text: show("", text), options.seconds, options.rounds
    )
    report.training = _train(str(pack), data, options.steps, show)
    if report.training is not None and compare.THEIRS in report.rates:
        show("doctor", "what limits this training, with torch's DataLoader and with Tundish")
        limits = {"most_seconds": 0.25 * options.steps} if options.steps else {}
        report.doctor = diagnose.diagnose(str(pack), files, **limits)
    report.machine |= machine() | {"busy": report.machine["busy"]}  # adds the GPU, now in use
    report.versions = versions()

    from . import demo_page as page  # imported late, because it imports DemoReport

    target = work / "report.html"
    target.write_text(page.page(report), encoding="utf-8", errors="replace")
    if options.json:
        write_stdout(json_text(_as_json(report, target), indent=None))
    else:
        write_stdout(page.summary(report, target) + "\n")
    return OK


def _find(work: Path) -> tuple[Path, Path, list[tuple[str, str]]]:
    """Returns the pack, the folder with the images as loose files, and the steps so far."""
    if not (work / _MARKER).exists():
        found = f"{work} was not made by tundish demo and must not be overwritten"
        raise Error(f"{found}\n  fix: run tundish demo --work NEW-FOLDER")
    about = work / "demo.json"
    given = json.loads(about.read_text(encoding="utf-8")) if about.exists() else {}
    packs = [work / given["pack"]] if "pack" in given else sorted(work.glob("*.tnd"))
    if len(packs) != 1:
        found = f"{work} must hold one .tnd file, but holds {len(packs)}"
        raise Error(f"{found}\n  fix: run tundish demo first")
    folder = work / given["folder"] if given.get("folder") else _unpack(packs[0], work / "files")
    steps = [(str(word), str(text)) for word, text in given.get("steps", [])]
    return packs[0], folder, steps


def _unpack(pack: Path, folder: Path) -> Path:
    """Unpacks a pack that was made from an archive or a list. Returns the folder."""
    argv = [find_program(), "unpack", str(pack), "-o", str(folder), "--force", "--quiet"]
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=False)  # leaves out damaged images
    return folder


def _train(pack: str, data: tundish.Dataset, steps: int, show: Any) -> Training | None:
    reason = train.why_not(len(data), len(data.classes))
    if not reason:
        try:
            import torch  # noqa: F401
        except ImportError:
            reason = "torch is not installed (pip install torch)"
    if reason:
        show("training", f"left out: {reason}")
        return None
    show("training", f"a small network on {len(data):,} images, every fifth held out")
    return train.train(pack, steps) if steps else train.train(pack)


def _as_json(report: DemoReport, page: Path) -> dict[str, Any]:
    rates = {
        name: {str(cores): round(rate, 1) for cores, rate in by_cores.items()}
        for name, by_cores in report.rates.items()
    }
    out: dict[str, Any] = {"pack": report.pack, "images": report.images, "bytes": report.bytes}
    out |= {"images_per_s": rates, "speedup": speedup(report.rates)}
    if report.training is not None:
        out["training"] = report.training.__dict__
    if report.doctor:
        out["doctor"] = {when: diagnosis.report for when, diagnosis in report.doctor.items()}
    return out | {"machine": report.machine, "versions": report.versions, "page": str(page)}


def speedup(rates: Rates) -> dict[str, float]:
    """Returns the speedup over torch's DataLoader by number of cores; empty if torch was not timed."""
    if THEIRS not in rates:
        return {}
    return {
        str(cores): round(rate / rates[THEIRS][cores], 2) for cores, rate in rates[OURS].items()
    }


__all__ = ["DemoReport", "main", "speedup"]
