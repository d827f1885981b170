"""A training step of ResNet-18 with tundish.optim.SGD against torch's fused SGD.

    python -m bench.optim.resnet18_step [--batches 16 128] [--rounds N] [--out FILE]

Runs on a machine with a GPU, in eager mode and as one CUDA graph. Two equal models train on one batch in
GPU memory, under bf16 autocast and in channels_last. They take turns, and the ratio is computed within
each round. The goal is to be at least as fast as torch. In eager mode, the host limits the speed with
16 images, and the GPU with 128.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from tundish import optim

from ..common.rounds import Cost, interval, take_turns
from ..common.rows import Rows
from .measure import WARM_UP, synchronize, without_collection
from .resnet18 import count_parameters, resnet18

OURS, THEIRS = "tundish", "torch, fused"
SGD = {"lr": 0.01, "momentum": 0.9, "weight_decay": 1e-4}
SECONDS = 0.2  # duration of a turn
MODES = {"eager": False, "graph": True}


class Training:
    """One contestant: a model, its optimizer, a batch, and the function that runs a step."""

    def __init__(self, name: str, batch: int, side: int, device: str) -> None:
        torch.manual_seed(0)
        memory: dict[str, Any] = {"device": device, "memory_format": torch.channels_last}
        self.device = device
        self.model = resnet18().to(**memory)
        self.images = torch.randn(batch, 3, side, side).to(**memory)
        self.labels = torch.randint(0, 1000, (batch,)).to(device)
        if name == OURS:
            self.optimizer: Any = optim.SGD(self.model.parameters(), **SGD)
        else:
            self.optimizer = torch.optim.SGD(self.model.parameters(), fused=True, **SGD)
        self.loss = torch.zeros((), device=device)
        self.call: Callable[[], Any] = self.step
        self.steps = 1  # steps per turn

    def step(self) -> None:
        self.optimizer.zero_grad()
        with torch.autocast(self.device, dtype=torch.bfloat16):
            loss = functional.cross_entropy(self.model(self.images), self.labels)
        loss.backward()
        self.optimizer.step()
        self.loss.copy_(loss.detach())

    def capture(self) -> None:
        """Captures the step as a CUDA graph. Every further step replays this graph."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self.step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            self.step()
        self.call = graph.replay

    def prepare(self) -> None:
        """Warms up, checks that the steps train the model, and determines the number of steps per turn."""
        losses = []
        for _ in range(10):
            self.call()
            losses.append(float(self.loss))
        if not losses[-1] < losses[0]:
            raise RuntimeError(f"the loss does not fall: {losses}")
        self.steps = max(1, round(SECONDS / self.turn(5).wall_s))

    def turn(self, steps: int) -> Cost:
        """Returns the seconds of one step."""
        synchronize(self.device)
        wall, cpu = time.perf_counter(), time.process_time()
        with without_collection():
            for _ in range(steps):
                self.call()
            synchronize(self.device)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        return Cost(wall / steps, cpu / steps)


def race(mode: str, batch: int, side: int, rounds: int, device: str, rows: Rows) -> str:
    """Adds the rows of one comparison and returns the summary line."""
    players = {name: Training(name, batch, side, device) for name in (OURS, THEIRS)}
    for player in players.values():
        if MODES[mode]:
            player.capture()
        player.prepare()
    costs = take_turns(list(players), rounds, lambda name: players[name].turn(players[name].steps))
    tensors, elements = count_parameters(players[OURS].model)
    about = {"set": "resnet18", "optimizer": "sgd", "batch": batch, "device": device}
    about |= {"tensors": tensors, "elements": elements}
    for name, taken in costs.items():
        rows.add(name, f"training step, {mode}", [1e3 * one.wall_s for one in taken], "ms", **about)
    pairs = zip(costs[THEIRS], costs[OURS], strict=True)
    ratios = [theirs.wall_s / own.wall_s for theirs, own in pairs]
    sure = interval(ratios)
    between = {"low": round(sure.low, 5), "high": round(sure.high, 5)}
    rows.add(f"{THEIRS} / {OURS}", f"ratio, training step, {mode}", ratios, "x", **about, **between)
    times = {name: interval(1e3 * one.wall_s for one in taken) for name, taken in costs.items()}
    shown = ", ".join(f"{name} {one.median:.3f} ms" for name, one in times.items())
    text = f"ResNet-18, batch {batch}, {mode}: {shown};"
    verdict = "not met" if sure.high < 1 else "met"
    return (
        f"{text} {sure.median:.4f}x ({sure.low:.4f} to {sure.high:.4f}); bar: not slower, {verdict}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, nargs="+", default=[16, 128])
    parser.add_argument("--side", type=int, default=224, help="of the images, in pixels (224)")
    parser.add_argument("--rounds", type=int, default=15, help="interleaved rounds (15)")
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = Rows("optim", command="python -m bench.optim.resnet18_step")
    print(rows.heading())
    for batch in options.batches:
        for mode in MODES if device == "cuda" else ["eager"]:
            print(race(mode, batch, options.side, options.rounds, device, rows), flush=True)
            rows.write(options.out, quiet=True)
    rows.write(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
