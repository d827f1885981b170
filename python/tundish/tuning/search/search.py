"""The order in which tricks are tried.

"Each alone, then stack what pays" ends below what people do by hand: a CUDA graph is worth nothing
alone and everything under a compiled step; fp16 wins in one layout and loses in the other. So:

    1  the ground: the whole step as a CUDA graph with the fused optimiser
    2  on it precision x layout, as one choice
    3  torch.compile on the best of them, in both layouts
    4  flags: cudnn.benchmark, TF32 beside the precision; in-place activations
    5  removal: does the plan need each of its tricks?
    6  with a memory target: recomputation of the cheapest blocks
    7  a fresh run of the winner against the baseline, its twin and the human recipe (confirm.py)

What is compiled prepares in the background from the start; only one trial is timed at a time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ..report.results import IMPOSSIBLE, Row
from ..trials.pool import Outcome, Stage
from ..tricks import Grade, Trick
from ..tricks.autocast import Bf16, Fp16
from ..tricks.channels_last import ChannelsLast
from ..tricks.compile import Compile
from ..tricks.cuda_graph import CudaGraph
from ..tricks.cudnn_benchmark import CudnnBenchmark
from ..tricks.ddp import DdpOptions
from ..tricks.inplace import InplaceActivations
from ..tricks.optimizer_kernels import FusedOptimizer
from ..tricks.tf32 import TF32
from ..tricks.tundish_muon import TundishMuon
from ..tricks.tundish_optimizer import TundishOptimizer
from .confirmation import BASELINE, TWIN, confirm, confirm_s, start_human, start_references
from .gates import Gates
from .memory_target import fit_memory
from .paired_times import Gain, compare
from .rows import Variant, fill_row, label, reference_row, variant_row
from .variants import BaselineFailed, Facts, Measured, in_variant, without

NOT_WORTH = 1.003  # a trick that gives less is left out: a simpler plan
EXACT_STEPS = 15  # of a variant whose tricks are compared with fp64 one by one
QUICK_ROUNDS = 4


@dataclass
class Search:
    """One tuning run. `winner` is the best variant so far, at any time."""

    stage: Stage
    gates: Gates
    facts: Facts
    deadline: float  # of time.monotonic()
    quick: bool = False
    own: list[Trick] = field(default_factory=list)  # the user's own tricks
    target_bytes: int = 0  # of the device's memory; 0: no target
    allowed: Callable[[Trick], bool] = lambda trick: True
    progress: Callable[[str], None] = lambda text: None
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    winner: Variant = ()
    measured: dict[Variant, Measured] = field(default_factory=dict)
    gains: dict[str, Gain] = field(default_factory=dict)
    twin_noise: dict[str, float] = field(default_factory=dict)

    def run(self) -> None:
        if self.quick:
            self.stage.rounds = QUICK_ROUNDS
        self.start_references()
        self.start_ground()
        self.choose_precision_and_layout()
        self.choose_compiler()
        self.choose_flags()
        self.try_removal()
        fit_memory(self)
        confirm(self)

    def run_only(self, variant: Variant) -> None:
        """The fresh run of a plan that exists."""
        self.start_references()
        self.winner = variant
        self.gates.start(self.stage, variant)
        confirm(self)

    # 0: what everything is compared with.

    def start_references(self) -> None:
        self.progress("the step as it is")
        self.stage.start(BASELINE, ())
        base = self.stage.outcome(BASELINE)
        if base.failed:
            raise BaselineFailed(base)
        if not all(map(math.isfinite, base.losses)):
            raise BaselineFailed(Outcome("its loss is not finite", "not finite"))
        self._make_room()
        self.gates.limit = self._latest()
        self._start_compiling()  # the slowest to prepare comes first
        self.stage.start(TWIN, (), need_bytes=self.need(()))
        for nudge in (1, 2):
            self.stage.start(f"nudge {nudge}", (), nudge, self.need(()))
        self.gates.start(self.stage, self._checked_first())
        self.rows.append(reference_row(BASELINE, base, self.stage.memory(BASELINE)))

    def _start_compiling(self) -> None:
        """The compiled variant that will most likely be wanted; one alone, which is ready sooner."""
        if self._can(Compile()) and self._can(Bf16()):
            self._start(self._compiled_first())

    def _compiled_first(self) -> Variant:
        """The human recipe is compiled to the same kernels, and finds them if it comes later."""
        return self._usable([*self.ground(), Bf16(), ChannelsLast(), Compile()])

    def _checked_first(self) -> list[Trick]:
        tricks: list[Trick] = [Compile(), *self.ground(), ChannelsLast()]
        return [trick for trick in tricks if self._can(trick)]

    def human_recipe(self) -> Variant:
        """What people do by hand: bf16 autocast, channels_last, compile, the fused optimiser."""
        return self._usable([Bf16(), ChannelsLast(), Compile(), FusedOptimizer()])

    # 1, 2

    def start_ground(self) -> None:
        for cell in self.cells():
            self._start(cell)

    def ground(self) -> list[Trick]:
        return list(self._usable([CudaGraph(), FusedOptimizer()]))

    def cells(self) -> list[Variant]:
        precisions: list[list[Trick]] = [[], [TF32()], [Bf16()], [Fp16()]]
        if self.quick:
            precisions = [[], [Bf16()]]
        layouts: list[list[Trick]] = [[], [ChannelsLast()]]
        cells = [
            self._usable([*self.ground(), *precision, *layout])
            for precision in precisions
            for layout in layouts
        ]
        return list(dict.fromkeys(cells))

    def choose_precision_and_layout(self) -> None:
        self.progress("precision and layout")
        cells = self.cells()
        if self._can(CudaGraph()):
            first = self.stage.outcome(self.name(cells[0]))
            if first.kind == "capture":
                self._give_up(CudaGraph(), first)
                cells = self.cells()
                self.start_ground()
                self._start_compiling()
        self.measure(cells, "precision and layout")
        self._settle(cells)
        start_references(self)

    # 3

    def choose_compiler(self) -> None:
        if not self._can(Compile()):
            start_human(self)
            return
        if not self._time_for(10 if self.quick else 40):
            self.notes.append("no time was left for torch.compile; --minutes gives more")
            return
        self.progress("torch.compile")
        candidates = []
        for found in self._best_first(self.cells())[: 1 if self.quick else 2]:
            candidates.append(self._usable([*found, Compile()]))
        best = candidates[0] if candidates else ()
        if ChannelsLast() in best:  # compilation changes the worth of a layout: both are timed
            if not self.quick:
                candidates.append(without(best, ChannelsLast()))
        elif best:
            candidates.append(self._usable([*best, ChannelsLast()]))
        if best and not self._can(CudaGraph()) and self.facts.cuda:
            candidates.append(self._usable([*without(best, Compile()), Compile("reduce-overhead")]))
        first = self._compiled_first() if self._can(Bf16()) else best
        candidates = list(dict.fromkeys([*candidates, first]))
        self._end_all_but([*candidates, self.winner, self.human_recipe()])
        for candidate in candidates:
            self._start(candidate)
        self.stage.is_ready_by(self.name(first), self._latest())
        start_human(self)
        self.measure([*candidates, self.winner], "compile")
        self._settle([*candidates, self.winner])

    # 4

    def choose_flags(self) -> None:
        extra = [] if self.quick else self._extra()
        extra = [one for one in [*extra, *self.own] if self._can(one) and one not in self.winner]
        if not self._time_for(45):  # a user's own are tried in any case
            extra = [one for one in extra if one in self.own]
            self.notes += [] if self.quick else ["no time was left for flags; --minutes gives more"]
        if not extra:
            return
        self.progress("flags")
        self.gates.start(self.stage, extra)
        candidates = [self._winner_with(one) for one in extra]
        self.try_beside_winner(candidates, "flags")
        better = [c for c in candidates if self._pays(c, self.winner)]
        if len(better) > 1:
            every = in_variant({trick for one in better for trick in one})
            gone = {name for trick in every for name in trick.replaces}
            every = tuple(trick for trick in every if trick.name not in gone)
            self.try_beside_winner([every], "flags")
            better.append(every)
        if better:
            self.winner = min(better, key=lambda one: self.measured[one].ms)

    def _winner_with(self, one: Trick) -> Variant:
        return in_variant([*(t for t in self.winner if t.name not in one.replaces), one])

    def _extra(self) -> list[Trick]:
        """TF32 has nothing to do beside 16 bits, in-place activations nothing under the compiler."""
        is_muon = self.facts.obstacles.get(TundishOptimizer.name)  # or none of both can be used
        optimizer = TundishMuon() if is_muon else TundishOptimizer()
        extra: list[Trick] = [CudnnBenchmark(), optimizer, DdpOptions()]
        if not any(trick.name in ("bf16", "fp16") for trick in self.winner):
            extra.append(TF32())
        if Compile() not in self.winner:
            extra.append(InplaceActivations())
        return extra

    # 5

    def try_removal(self) -> None:
        if self.quick or len(self.winner) < 2 or not self._time_for(40):
            return
        self.progress("is every trick needed?")
        removable = [one for one in self.winner if self._cheap_to_remove(one)]
        candidates = [without(self.winner, one) for one in removable]
        self.try_beside_winner(candidates, "removal")
        needless = [
            trick
            for trick, candidate in zip(removable, candidates)
            if candidate in self.measured
            and self.measured[candidate].ms <= self.measured[self.winner].ms * NOT_WORTH
        ]
        if needless:
            simpler = tuple(one for one in self.winner if one not in needless)
            if len(needless) > 1:
                self.try_beside_winner([simpler], "removal")
            if simpler in self.measured and (
                self.measured[simpler].ms <= self.measured[self.winner].ms * NOT_WORTH
            ):
                self.winner = simpler

    def _cheap_to_remove(self, trick: Trick) -> bool:
        """A precision under a compiled step would be compiled anew for an answer that is known."""
        return not (Compile() in self.winner and trick.name in ("bf16", "fp16", "channels_last"))

    # The parts that the phases share.

    def measure(self, variants: Sequence[Variant], phase: str) -> None:
        """Prepares and times variants beside the baseline and its twin, and writes their rows."""
        wanted = [one for one in dict.fromkeys(variants) if one]
        for variant in wanted:
            self._start(variant)
        for group in self._groups(wanted):
            group = [one for one in group if self._is_in_time(one)]
            if not group:
                continue
            names = [self.name(one) for one in group]
            turns = self.stage.measure([BASELINE, TWIN, *names])
            base, twin = turns.pop(BASELINE, []), turns.pop(TWIN, [])
            for variant, name in zip(group, names):
                if name in turns and base and twin:
                    peak = self.stage.memory(name)
                    self.measured[variant] = Measured(turns[name], base, twin, peak)
                self._report(variant, phase)

    def _groups(self, variants: list[Variant]) -> Iterable[list[Variant]]:
        """As many at once as the device's memory holds, beside the baseline and its twin."""
        room = self.stage.memory_limit - 2 * self.need(())
        group: list[Variant] = []
        for variant in variants:
            taken = sum(map(self.need, group))
            if group and self.facts.cuda and taken + self.need(variant) > room:
                yield group
                self.stage.end(*(self.name(one) for one in group))
                group = []
            group.append(variant)
        if group:
            yield group

    def _is_in_time(self, variant: Variant) -> bool:
        """Waits for a trial to be prepared; gives it up where the fresh run would come too late."""
        name = self.name(variant)
        if self.stage.is_ready_by(name, self._latest()):
            return True
        self.stage.end(name)
        self.notes.append(f"no time was left for {name}; --minutes gives more")
        return False

    def try_beside_winner(self, candidates: list[Variant], phase: str) -> None:
        self._end_all_but([self.winner, *candidates])
        self.measure([self.winner, *candidates], phase)

    def _best_first(self, variants: Iterable[Variant]) -> list[Variant]:
        good = [one for one in variants if one in self.measured and self.passes(one)]
        return sorted(good, key=lambda one: self.measured[one].ms)

    def _settle(self, variants: Iterable[Variant]) -> None:
        """The fastest that passes the gates and beats the baseline; the simpler one of two equals."""
        order = [one for one in self._best_first(variants) if self.measured[one].gain.faster]
        if not order:
            return
        near = [
            one for one in order if self.measured[one].ms <= self.measured[order[0]].ms * NOT_WORTH
        ]
        self.winner = min(near, key=len)

    def _pays(self, candidate: Variant, than: Variant) -> bool:
        if candidate not in self.measured or not self.passes(candidate):
            return False
        if not than:
            return self.measured[candidate].gain.faster
        ours, theirs = self.measured[candidate], self.measured[than]
        gain = compare(theirs.turns, ours.turns, theirs.turns[1:] + theirs.turns[:1])
        return gain.gain > NOT_WORTH and gain.low > 1.0

    def passes(self, variant: Variant) -> bool:
        return not self.gates.judge(self.stage, variant, self.name(variant)).broken

    def _can(self, trick: Trick) -> bool:
        return self.allowed(trick) and not self.facts.obstacles.get(trick.name, "")

    def _usable(self, tricks: Iterable[Trick]) -> Variant:
        return in_variant(trick for trick in tricks if self._can(trick))

    def _give_up(self, trick: Trick, outcome: Outcome) -> None:
        self.facts.obstacles[trick.name] = outcome.failed
        self.rows.append(
            Row(trick.title, "ground", [trick.as_json()], IMPOSSIBLE, numerics=outcome.failed)
        )

    def _start(self, variant: Variant) -> None:
        exact = all(trick.grade is not Grade.STATISTICAL for trick in variant)
        if variant:
            need = self.need(variant)
            self.stage.start(self.name(variant), variant, 0, need, EXACT_STEPS if exact else 0)

    def name(self, variant: Variant) -> str:
        return label(variant) or BASELINE

    def _end_all_but(self, variants: Iterable[Variant]) -> None:
        wanted = {self.name(one) for one in [*variants, self.human_recipe()]} | {BASELINE, TWIN}
        alive = [one for one in self.stage.alive() if not one.startswith(("fresh ", "nudge "))]
        self.stage.end(*[name for name in alive if name not in wanted])

    def _latest(self) -> float:
        """When the fresh run must begin."""
        return self.deadline - confirm_s(self)

    def _time_for(self, seconds: float) -> bool:
        """There is time for a phase of about this length, and for the fresh run after it."""
        return time.monotonic() + seconds < self._latest()

    def _make_room(self) -> None:
        """How much of the device's memory trials may take beside each other."""
        if not self.facts.cuda:
            self.stage.most_preparing = 2
            return
        total = int(self.stage.outcome(BASELINE).details.get("memory_total") or 0)
        self.facts.peak_bytes = self.stage.memory(BASELINE) or 0
        # Two samples' worth for each: fp64, of a batch that is cut to 32 samples.
        share = min(1.0, 32 / max(1, self.facts.samples))
        self.gates.need_bytes = int(2 * share * self.facts.peak_bytes) + (700 << 20)
        self.stage.memory_limit = int(0.85 * total)
        self.stage.most_preparing = 16

    def need(self, variant: Variant) -> int:
        """The memory of a trial, by the baseline's; a graph keeps a pool of its own."""
        low = any(trick.name in ("bf16", "fp16") for trick in variant)
        return int((0.7 if low else 1.2) * self.facts.peak_bytes) + (700 << 20)

    def _report(self, variant: Variant, phase: str) -> None:
        name = self.name(variant)
        row = variant_row(name, phase, variant, self.stage.outcome(name))
        found = self.measured.get(variant)
        if found is not None and row.verdict != IMPOSSIBLE:
            gate = self.gates.judge(self.stage, variant, name)
            fill_row(row, found.turns, found.base, found.gain, found.peak_bytes, gate)
        self.rows = [r for r in self.rows if (r.label, r.phase) != (name, phase)] + [row]
