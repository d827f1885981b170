"""Runs one job on one set of tensors: compares the contestants' weights, then lets them take turns."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..common.rows import say
from . import flat, ours, timm_, torch_foreach, torch_fused, torch_loop, torch_separate
from .check import compare, distance, expected
from .contestant import Contestant, Entry, LeftOut, parameters_of
from .jobs import JOBS, Job
from .measure import WARM_UP, Copy, capture, fitting_steps, time_graph, time_steps
from .others import Others
from .shapes import ShapeSet

MODULES = (ours, torch_loop, torch_foreach, torch_fused, torch_separate, timm_, flat)
ENTRIES: list[Entry] = [entry for module in MODULES for entry in module.CONTESTANTS]
GPU_STEPS = 10  # steps per turn, for each kind of gradients; fewer if a step takes long
GPU_SECONDS = 0.15
CPU_SECONDS = 0.1
TRIES = 6  # attempts per round until other processes use little CPU time


@dataclass
class Result:
    """The result of one job on one set of tensors. Contestants that were not timed have a reason."""

    set: str
    job: str
    tensors: int
    elements: int
    errors: dict[str, float] = field(default_factory=dict)  # distance from the reference
    reasons: dict[str, str] = field(default_factory=dict)  # why contestants were not timed
    failed: set[str] = field(default_factory=set)  # contestants with an error or wrong weights
    graph_reasons: dict[str, str] = field(default_factory=dict)
    times: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # seconds, by round
    steps: dict[str, int] = field(default_factory=dict)  # steps per turn
    copy: list[float] = field(default_factory=list)  # bytes per second of a copy, by round
    others: list[float] = field(default_factory=list)  # CPU share of other processes, by round
    noisy: int = 0  # number of rounds that do not count, because other processes used the CPUs

    def values(self, contestant: str, metric: str) -> list[float]:
        return self.times.get(contestant, {}).get(metric, [])


@dataclass
class Player:
    contestant: Contestant
    steps: int
    graph: Any = None
    captured: Contestant | None = None  # the contestant that owns the memory of the graph


def draw(shapes: Sequence[Any], seed: int, scale: float, device: str) -> list[Any]:
    generator = torch.Generator(device).manual_seed(seed)
    return [scale * torch.randn(shape, generator=generator, device=device) for shape in shapes]


class Contest:
    def __init__(self, name: str, shapes: ShapeSet, job: str, device: str) -> None:
        chosen = shapes.matrices if JOBS[job].kind == "muon" else shapes.shapes
        self.job, self.device = JOBS[job], device
        self.result = Result(name, job, len(chosen), ShapeSet(chosen).elements)
        self.weights = draw(chosen, 1, 0.02, device)
        self.gradients = [draw(chosen, seed, 0.01, device) for seed in (2, 3)]
        self.entries = {entry.name: entry for entry in ENTRIES if job in entry.jobs}
        self.players: dict[str, Player] = {}
        self.replayed: list[Any] = []  # weights after the first replay of a graph

    def attempt(self, name: str, act: Any, reasons: dict[str, str]) -> Any:
        """Returns act(). If it fails, records the failure and returns None."""
        try:
            return act()
        except LeftOut as why:
            reasons[name] = str(why)
        except Exception as error:
            reasons[name] = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            self.result.failed.add(name)
            say(f"  {name} fails: {reasons[name]}")
        return None

    def check(self) -> None:
        """Compares the weights after three steps. Contestants with wrong weights are not timed."""
        result = self.result
        steps = [self.gradients[number] for number in (0, 1, 0)]
        try:
            right = expected(self.job, self.weights, steps)
        except LeftOut as why:
            result.reasons.update(dict.fromkeys(self.entries, f"nothing to compare with: {why}"))
            return
        for name, entry in self.entries.items():

            def act(entry: Entry = entry) -> float:
                return compare(entry, self.job, self.weights, steps, right)

            error = self.attempt(name, act, result.reasons)
            if error is None:
                continue
            result.errors[name] = error
            if error > self.job.tolerance:
                result.failed.add(name)
                result.reasons[name] = (
                    f"other weights than the reference: off by {error:.1e} of what three steps"
                    f" change, {self.job.tolerance:.0e} is allowed"
                )

    def open(self) -> None:
        job = self.job.for_timing()
        for name, entry in self.entries.items():
            if name not in self.result.reasons:

                def act(entry: Entry = entry) -> Player:
                    return self.player(entry, job)

                player = self.attempt(name, act, self.result.reasons)
                if player is not None:
                    self.players[name] = player
                    self.result.steps[name] = player.steps

    def player(self, entry: Entry, job: Job) -> Player:
        made = entry.make(job, parameters_of(self.weights), False)
        if self.device != "cuda":
            return Player(made, fitting_steps(made, self.gradients[0], CPU_SECONDS))
        fitting = fitting_steps(made, self.gradients[0], GPU_SECONDS)
        player = Player(made, max(3, min(GPU_STEPS, fitting)))
        if self.result.job in entry.no_graph:
            self.result.graph_reasons[entry.name] = entry.no_graph[self.result.job]
            return player

        def act() -> Any:
            player.captured = entry.make(self.job, parameters_of(self.weights), True)
            return self.capture(entry, player.captured)

        player.graph = self.attempt(entry.name, act, self.result.graph_reasons)
        return player

    def capture(self, entry: Entry, contestant: Contestant) -> Any:
        """Returns a CUDA graph of the step. Its first replay must give the weights of the reference."""
        # Uses separate gradients, because the graph stores their addresses, and some optimizers write
        # into gradients.
        graph = capture(contestant, [gradient.clone() for gradient in self.gradients[0]])
        if self.result.job in entry.writes_gradients:
            return graph
        if not self.replayed:
            steps = (WARM_UP + 1) * [self.gradients[0]]
            self.replayed = expected(self.job, self.weights, steps)
        error = distance(contestant.outputs(), self.replayed, self.weights)
        if error > self.job.tolerance:
            raise RuntimeError(
                f"a replay gives other weights than the reference: off by {error:.1e}"
            )
        return graph

    def turn(self, player: Player) -> dict[str, float]:
        out = {}
        for fresh in (False, True):
            taken = time_steps(player.contestant, self.gradients, fresh, player.steps, self.device)
            out |= {f"{key}{', fresh' * fresh}": value for key, value in taken.items()}
        if player.graph is not None:
            out["graph"] = time_graph(player.graph)
        return out

    def round(self, number: int) -> dict[str, dict[str, float]]:
        """Runs every contestant once. Each round starts with another one. Removes contestants that fail."""
        names = list(self.players)
        first = number % len(names)
        turns = {}
        for name in [*names[first:], *names[:first]]:

            def act(name: str = name) -> dict[str, float]:
                return self.turn(self.players[name])

            turns[name] = self.attempt(name, act, self.result.reasons)
            if turns[name] is None:
                del self.players[name], turns[name]
                self.result.times.pop(name, None)
        return {name: turns[name] for name in names if name in turns}

    def rounds(self, count: int, copy: Copy | None, quiet: float) -> None:
        """Runs a warm-up round, then `count` rounds that count.

        A round in which other processes use more than the share `quiet` of the CPUs does not count. It
        is repeated, up to a limit.
        """
        counted = -1
        for number in range(TRIES * (count + 1)):
            if not self.players or counted == count:
                return
            gc.collect()
            others = Others()
            bandwidth = copy.bytes_per_s() if copy is not None else None
            turns = self.round(number)
            share = others.share()
            if share > quiet:
                self.result.noisy += 1
                continue
            counted += 1
            if counted > 0:
                self.keep(turns, bandwidth, share)
        if counted < count:
            say(f"  {max(counted, 0)} quiet rounds of {count}")
        for name in () if counted > 0 else self.players:
            self.result.reasons[name] = "others used the CPUs all the time"

    def keep(
        self, turns: dict[str, dict[str, float]], bandwidth: float | None, share: float
    ) -> None:
        if bandwidth is not None:
            self.result.copy.append(bandwidth)
        self.result.others.append(share)
        for name, taken in turns.items():
            times = self.result.times.setdefault(name, {})
            for metric, value in taken.items():
                times.setdefault(metric, []).append(value)


def run(
    name: str,
    shapes: ShapeSet,
    job: str,
    device: str,
    rounds: int,
    copy: Copy | None,
    quiet: float = 1.0,
) -> Result:
    contest = Contest(name, shapes, job, device)
    contest.check()
    contest.open()
    contest.rounds(rounds, copy, quiet)
    result = contest.result
    del contest
    gc.collect()  # hooks of flat parameters are in reference cycles
    if device == "cuda":
        torch.cuda.empty_cache()
    return result
