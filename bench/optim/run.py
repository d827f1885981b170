"""How fast is an optimizer step, and how close to the speed of a plain memory copy?

    ./dev bench optim [--device cpu|cuda] [--sets vit_b resnet50 small500] [--optimizers lamb ...]
    python -m bench.optim.run --device cuda --out gpu_optim.json        on a machine with a GPU
    ... --timm FOLDER       a copy of timm/optim, where timm is not installed

The contestants are tundish.optim, torch's optimizers (loop, foreach, fused, and fused with separate
calls for clipping, scaler and average), timm's optimizers, and flat parameters. First, the weights of
every contestant are compared with the formulas in fp64. Contestants that differ are not timed.

On a GPU, "graph" is the GPU time of a step in a CUDA graph. "eager" is the time from the call until the
GPU has finished, and "host" is the time of the call alone. "fresh" uses other gradient tensors than the
previous step. On a CPU, only the time of the step is measured.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from ..common.rows import Rows, say
from . import contest, flat, ours, timm_
from .bars import bar_lines
from .contest import Result, run
from .jobs import JOBS
from .measure import Copy
from .report import add_rows, tables
from .shapes import SETS


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: a GPU where one is")
    parser.add_argument(
        "--sets", nargs="+", choices=SETS, default=["vit_b", "resnet50", "small500"]
    )
    parser.add_argument("--optimizers", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (5)")
    parser.add_argument("--threads", type=int, help="of torch and of tundish.optim on a CPU")
    parser.add_argument(
        "--quiet",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="repeat rounds in which others use more of the CPUs (0.05: 5 %%)",
    )
    parser.add_argument(
        "--seconds", type=float, default=contest.CPU_SECONDS, help="of a turn on a CPU (0.1)"
    )
    parser.add_argument("--timm", type=Path, metavar="FOLDER", help="holds timm/optim")
    parser.add_argument("--copy-mib", type=int, default=1024, help="of the copy (1024)")
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if options.threads:
        torch.set_num_threads(options.threads)
    contest.CPU_SECONDS = options.seconds
    if options.timm:
        timm_.use(options.timm)
    about = {"device": device, "threads": torch.get_num_threads()}
    found = timm_.version()
    rows = Rows("optim", more={"timm": found} if found else None)
    # On a CPU, a copy is no limit: unlike an update in place, it also reads the memory it overwrites.
    copy = Copy(options.copy_mib) if device == "cuda" else None
    print(f"{rows.heading()}\n{device}, {about['threads']} threads, {options.rounds} rounds\n")
    results: list[Result] = []
    for name in options.sets:
        shapes = SETS[name]()
        for job in options.optimizers:
            if JOBS[job].kind == "muon" and not shapes.matrices:
                say(f"{name}, {job}: no matrices of hidden layers")
                continue
            results.append(run(name, shapes, job, device, options.rounds, copy, options.quiet))
            print(tables(results[-1], device), flush=True)
            add_rows(rows, results[-1], about)
            rows.write(options.out, quiet=True)  # after each job, in case the run is interrupted
    print("\n".join(bar_lines(results, device)))
    rows.write(options.out)
    return int(any({ours.NAME, flat.NAME} & result.failed for result in results))


if __name__ == "__main__":
    sys.exit(main())
