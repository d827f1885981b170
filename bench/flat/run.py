"""How much host time do flat parameters save? Times the parts of a step with and without flatten().

python -m bench.flat.run [--tensors 500] [--width 64] [--threads 1] [--out flat.json]

On a GPU, the times of the parts are host time only, because nothing waits for the GPU between parts;
"step in all" ends when the GPU has finished. On a CPU, the times of the parts include the computation.
With one thread, they show the host's overhead best.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import tundish

from ..common.rows import Rows, arguments, say, table

PARTS = ("zero_grad", "forward", "backward", "clip", "optimizer.step", "in all")
KINDS = {
    "AdamW": functools.partial(torch.optim.AdamW, lr=1e-6),
    "SGD": functools.partial(torch.optim.SGD, lr=1e-6, momentum=0.9),
}


@dataclass
class Contestant:
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    clipped: list[torch.nn.Parameter]
    set_to_none: bool


def make_model(tensors: int, width: int, device: str) -> torch.nn.Module:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(width, width) for _ in range(tensors // 2)]
    return torch.nn.Sequential(*layers).to(device)


def contestants(make: Callable[[], torch.nn.Module], variants: list[str]) -> dict[str, Contestant]:
    out = {}
    for name, kind in KINDS.items():
        for variant in variants:
            optimizer = functools.partial(kind, **{variant: True})
            model = make()
            parameters = [*model.parameters()]
            plain = Contestant(model, optimizer(parameters), parameters, True)
            out[f"{name} {variant}"] = plain
            for keeps in (False, True):
                model = make()
                flat = tundish.optim.flatten(model)
                own = Contestant(model, flat.optimizer(optimizer), flat.parameters(), not keeps)
                out[f"{name} {variant}, flat{', kept' * keeps}"] = own
    return out


def run_step(one: Contestant, batch: torch.Tensor, finish: Callable[[], None]) -> list[float]:
    """Runs a step. Returns the seconds of each part."""
    finish()
    times = [time.perf_counter()]
    one.optimizer.zero_grad(set_to_none=one.set_to_none)
    times.append(time.perf_counter())
    loss = one.model(batch).square().mean()
    times.append(time.perf_counter())
    loss.backward()
    times.append(time.perf_counter())
    torch.nn.utils.clip_grad_norm_(one.clipped, 1.0)
    times.append(time.perf_counter())
    one.optimizer.step()
    times.append(time.perf_counter())
    finish()
    return [
        *(after - before for before, after in itertools.pairwise(times)),
        time.perf_counter() - times[0],
    ]


def main() -> None:
    parser = arguments(__doc__.splitlines()[0], rounds=50)
    parser.add_argument("--tensors", type=int, default=500)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1, help="of torch (1)")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    has_gpu = torch.cuda.is_available()
    device = "cuda" if has_gpu else "cpu"
    finish = torch.cuda.synchronize if has_gpu else lambda: None
    rows = Rows("flat", "torch", command="python -m bench.flat.run")
    make = functools.partial(make_model, options.tensors, options.width, device)
    asked = contestants(make, ["foreach", "fused"])
    batch = torch.randn(8, options.width, device=device)
    runs: dict[str, list[list[float]]] = {name: [] for name in asked}
    for number in range(options.rounds + 3):  # the first 3 rounds warm up and do not count
        for name, one in asked.items():
            seconds = run_step(one, batch, finish)
            if number > 2:
                runs[name].append(seconds)
    where = torch.cuda.get_device_name() if has_gpu else f"CPU, {options.threads} threads of torch"
    say(f"{options.rounds} interleaved rounds; {where}; {options.tensors} tensors, {device}")
    lines = []
    for name, all_seconds in runs.items():
        columns = zip(PARTS, zip(*all_seconds, strict=True), strict=True)
        medians = [rows.add(name, part, values, "s", device=where) for part, values in columns]
        lines.append([name, *(f"{1e6 * median:.0f}" for median in medians)])
    print(f"{rows.heading()}\nmicroseconds, medians\n")
    print(table(["optimizer", *PARTS], lines))
    rows.write(options.out)


if __name__ == "__main__":
    main()
