"""The search for the best combination of tricks.

Trying each trick alone and combining the winners gives worse results than what people do by hand. A CUDA
graph may gain nothing alone, but a lot when the step is compiled. fp16 may win in one memory layout and
lose in the other. Therefore the search has these phases:

    1  the ground, which the next variants build on: a CUDA graph of the whole step, and the fused optimizer
    2  all combinations of precision and memory layout on this ground
    3  torch.compile on the best combination, in both layouts
    4  more tricks: cudnn.benchmark, TF32 in addition to the precision, in-place activations
    5  removal of each trick that the plan does not need
    6  if there is a memory limit: recomputation of the cheapest blocks
    7  a fresh run of the winner against the baseline, its twin and the human recipe (confirmation.py)

Compiled trials prepare in the background from the start. Only one trial is timed at a time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ..report.results import IMPOSSIBLE, Row
from ..trials.paired_times import Gain, compare, middle_ms
from ..trials.pool import TrialOutcome, TrialPool
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
from .choice import NOT_WORTH, choose, equally_fast
from .confirmation import BASELINE, TWIN, confirm, confirm_s, start_human_recipe, start_references
from .gates import Gates
from .memory_target import fit_memory
from .removal import remove_needless
from .rows import Variant, fill_row, label, reference_row, variant_row
from .variants import BaselineFailed, JobFacts, MeasuredVariant, in_variant, without

EXACT_STEPS = 15  # steps of variants whose tricks have each been compared with fp64
QUICK_ROUNDS = 4


@dataclass
class Search:
    """One tuning run. `winner` is always the best variant so far."""

    pool: TrialPool
    gates: Gates
    facts: JobFacts
    deadline: float  # end of the run, as a time.monotonic() value
    quick: bool = False
    own: list[Trick] = field(default_factory=list)  # the user's own tricks
    target_bytes: int = 0  # limit of GPU memory; 0: no limit
    allowed: Callable[[Trick], bool] = lambda trick: True
    progress: Callable[[str], None] = lambda text: None
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    winner: Variant = ()
    measured: dict[Variant, MeasuredVariant] = field(default_factory=dict)
    gains: dict[str, Gain] = field(default_factory=dict)
    twin_noise: dict[str, float] = field(default_factory=dict)
    baseline_ms: float = 0.0  # median of the baseline's turns in the latest measurement
    late: list[str] = field(default_factory=list)  # what there was no time for

    def run(self) -> None:
        if self.quick:
            self.pool.rounds = QUICK_ROUNDS
        self.start_references()
        self.start_ground()
        self.choose_precision_and_layout()
        self.choose_compiler()
        self.choose_flags()
        remove_needless(self)
        fit_memory(self)
        confirm(self)

    def run_only(self, variant: Variant) -> None:
        """Measures an existing plan in a fresh run."""
        self.start_references()
        self.winner = variant
        self.gates.start(self.pool, variant)
        confirm(self)

    # Phase 0: the references for all comparisons.

    def start_references(self) -> None:
        self.progress("the step as it is")
        self.pool.start(BASELINE, ())
        base = self.pool.outcome(BASELINE)
        if base.failed:
            raise BaselineFailed(base)
        if not all(map(math.isfinite, base.losses)):
            raise BaselineFailed(TrialOutcome("its loss is not finite", "not finite"))
        self._make_room()
        self.gates.limit = self._latest()
        self._start_compiling()  # slowest to prepare, so it starts first
        self.pool.start(TWIN, (), need_bytes=self.need(()))
        for nudge in (1, 2):
            self.pool.start(f"nudge {nudge}", (), nudge, self.need(()))
        self.gates.start(self.pool, self._checked_first())
        self.rows.append(reference_row(BASELINE, base, self.pool.memory(BASELINE)))
        self.baseline_ms = base.step_ms

    def _start_compiling(self) -> None:
        """Starts the compiled variant that is most likely needed. It starts alone, to be ready sooner."""
        if self._can(Compile()) and self._can(Bf16()):
            self._start(self._compiled_first())

    def _compiled_first(self) -> Variant:
        """Returns the first variant to compile. The human recipe can reuse its kernels later."""
        return self._usable([*self.ground(), Bf16(), ChannelsLast(), Compile()])

    def _checked_first(self) -> list[Trick]:
        tricks: list[Trick] = [Compile(), *self.ground(), ChannelsLast()]
        return [trick for trick in tricks if self._can(trick)]

    def human_recipe(self) -> Variant:
        """Returns what people apply by hand: bf16 autocast, channels_last, compile, the fused optimizer."""
        return self._usable([Bf16(), ChannelsLast(), Compile(), FusedOptimizer()])

    # Phases 1 and 2.

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
            first = self.pool.outcome(self.name(cells[0]))
            if first.kind == "capture":
                self._give_up(CudaGraph(), first)
                cells = self.cells()
                self.start_ground()
                self._start_compiling()
        self.measure(cells, "precision and layout")
        self.settle(cells)
        start_references(self)

    # Phase 3.

    def choose_compiler(self) -> None:
        if not self._can(Compile()):
            start_human_recipe(self)
            return
        if not self.has_time_for(10 if self.quick else 40):
            self.has_no_time(Compile().title)
            return
        self.progress("torch.compile")
        candidates = []
        for found in self._best_first(self.cells())[: 1 if self.quick else 2]:
            candidates.append(self._usable([*found, Compile()]))
        best = candidates[0] if candidates else ()
        if ChannelsLast() in best:  # compilation changes a layout's gain, so both layouts are timed
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
        self.pool.is_ready_by(self.name(first), self._latest())
        start_human_recipe(self)
        self.measure([*candidates, self.winner], "compile")
        self.settle([*candidates, self.winner])

    # Phase 4.

    def choose_flags(self) -> None:
        extra = [] if self.quick else self._extra()
        extra = [
            trick for trick in [*extra, *self.own] if self._can(trick) and trick not in self.winner
        ]
        if not self.has_time_for(45):  # user-defined tricks are tried even if time is short
            extra = [trick for trick in extra if trick in self.own]
            if not self.quick:
                self.has_no_time("flags")
        if not extra:
            return
        self.progress("flags")
        self.gates.start(self.pool, extra)
        candidates = [self._winner_with(trick) for trick in extra]
        self.try_beside_winner(candidates, "flags")
        better = [c for c in candidates if self._pays(c, self.winner)]
        if len(better) > 1:
            every = in_variant({trick for variant in better for trick in variant})
            replaced = {name for trick in every for name in trick.replaces}
            every = tuple(trick for trick in every if trick.name not in replaced)
            self.try_beside_winner([every], "flags")
            better += [every] if self._pays(every, self.winner) else []
        if better:
            self.winner = choose(self.measured, better)

    def _winner_with(self, added: Trick) -> Variant:
        kept = [trick for trick in self.winner if trick.name not in added.replaces]
        return in_variant([*kept, added])

    def _extra(self) -> list[Trick]:
        """Returns further tricks that can have an effect on the winner."""
        is_muon = self.facts.obstacles.get(TundishOptimizer.name)  # or neither trick applies
        optimizer = TundishMuon() if is_muon else TundishOptimizer()
        extra: list[Trick] = [CudnnBenchmark(), optimizer, DdpOptions()]
        if not any(trick.name in ("bf16", "fp16") for trick in self.winner):
            extra.append(TF32())
        if Compile() not in self.winner:
            extra.append(InplaceActivations())
        return extra

    # Functions shared by the phases.

    def measure(self, variants: Sequence[Variant], phase: str) -> None:
        """Prepares variants and times them together with the user's unchanged step. Adds report rows."""
        wanted = [variant for variant in dict.fromkeys(variants) if variant]
        for variant in wanted:
            self._start(variant)
        for group in self._groups(wanted):
            group = [variant for variant in group if self._is_in_time(variant)]
            if not group:
                continue
            names = [self.name(variant) for variant in group]
            turns = self.pool.measure([BASELINE, TWIN, *names])
            base, twin = turns.pop(BASELINE, []), turns.pop(TWIN, [])
            for variant, name in zip(group, names):
                if name in turns and base and twin:
                    peak = self.pool.memory(name)
                    once = self.pool.outcome(name).one_off_s
                    self.measured[variant] = MeasuredVariant(turns[name], base, twin, peak, once)
                    self.baseline_ms = middle_ms(base)
                self._report(variant, phase)

    def _groups(self, variants: list[Variant]) -> Iterable[list[Variant]]:
        """Yields groups that fit into the device's memory together with the baseline and its twin."""
        room = self.pool.memory_limit - 2 * self.need(())
        group: list[Variant] = []
        for variant in variants:
            taken = sum(map(self.need, group))
            if group and self.facts.cuda and taken + self.need(variant) > room:
                yield group
                self.pool.end(*(self.name(member) for member in group))
                group = []
            group.append(variant)
        if group:
            yield group

    def _is_in_time(self, variant: Variant) -> bool:
        """Waits until a trial is prepared. Ends the trial if it would delay the fresh run."""
        name = self.name(variant)
        ready = self.pool.is_ready_by(name, self._latest())
        if ready and self.pool.outcome(name).kind != "late":
            return True
        self.pool.end(name)
        self.has_no_time(name)
        return False

    def has_no_time(self, what: str, why: str = "for") -> None:
        self.late.append(what)
        self.notes.append(f"no time left {why} {what}; --minutes gives more")

    def try_beside_winner(self, candidates: list[Variant], phase: str) -> None:
        self._end_all_but([self.winner, *candidates])
        self.measure([self.winner, *candidates], phase)

    def _best_first(self, variants: Iterable[Variant]) -> list[Variant]:
        good = [
            variant for variant in variants if variant in self.measured and self.passes(variant)
        ]
        return sorted(good, key=lambda variant: -self.measured[variant].gain.gain)

    def settle(self, variants: Iterable[Variant]) -> None:
        """Chooses the fastest correct variant that beats the baseline. Prefers the cheapest of equals."""
        good = [v for v in self._best_first(variants) if self.measured[v].gain.faster]
        if good:
            self.winner = choose(self.measured, good)

    def is_faster(self, variant: Variant, than: Variant) -> bool:
        """Returns whether a variant is faster than another, beyond the noise. True if one was not timed."""
        if not {variant, than} <= self.measured.keys():
            return True
        ours, theirs = self.measured[variant].gain, self.measured[than].gain
        return ours.gain > theirs.gain and not equally_fast(ours, theirs)

    def _pays(self, candidate: Variant, than: Variant) -> bool:
        if candidate not in self.measured or not self.passes(candidate):
            return False
        if not than:
            return self.measured[candidate].gain.faster
        ours, theirs = self.measured[candidate], self.measured[than]
        gain = compare(theirs.turns, ours.turns, theirs.turns[1:] + theirs.turns[:1])
        return gain.gain > NOT_WORTH and gain.low > 1.0 and self.is_faster(candidate, than)

    def passes(self, variant: Variant) -> bool:
        return not self.gates.judge(self.pool, variant, self.name(variant)).broken

    def _can(self, trick: Trick) -> bool:
        return self.allowed(trick) and not self.facts.obstacles.get(trick.name, "")

    def _usable(self, tricks: Iterable[Trick]) -> Variant:
        return in_variant(trick for trick in tricks if self._can(trick))

    def _give_up(self, trick: Trick, outcome: TrialOutcome) -> None:
        self.facts.obstacles[trick.name] = outcome.failed
        self.rows.append(
            Row(trick.title, "ground", [trick.as_json()], IMPOSSIBLE, numerics=outcome.failed)
        )

    def _start(self, variant: Variant) -> None:
        exact = all(trick.grade is not Grade.STATISTICAL for trick in variant)
        if variant:
            need = self.need(variant)
            self.pool.start(self.name(variant), variant, 0, need, EXACT_STEPS if exact else 0)

    def name(self, variant: Variant) -> str:
        return label(variant) or BASELINE

    def _end_all_but(self, variants: Iterable[Variant]) -> None:
        wanted = {self.name(variant) for variant in [*variants, self.human_recipe()]} | {
            BASELINE,
            TWIN,
        }
        alive = [name for name in self.pool.alive() if not name.startswith(("fresh ", "nudge "))]
        self.pool.end(*[name for name in alive if name not in wanted])

    def _latest(self) -> float:
        """Returns the latest time at which the fresh run must start."""
        return self.deadline - confirm_s(self)

    def has_time_for(self, seconds: float) -> bool:
        """Returns whether there is time for a phase of about this length and for the fresh run."""
        return time.monotonic() + seconds < self._latest()

    def _make_room(self) -> None:
        """Sets how much device memory simultaneous trials may use together."""
        if not self.facts.cuda:
            self.pool.most_preparing = 2
            return
        total = int(self.pool.outcome(BASELINE).details.get("memory_total") or 0)
        self.facts.peak_bytes = self.pool.memory(BASELINE) or 0
        # Twice the memory of a step in fp64 on a batch of 32 samples.
        share = min(1.0, 32 / max(1, self.facts.samples))
        self.gates.need_bytes = int(2 * share * self.facts.peak_bytes) + (700 << 20)
        self.pool.memory_limit = int(0.85 * total)
        self.pool.most_preparing = 16

    def need(self, variant: Variant) -> int:
        """Estimates a trial's memory from the baseline's memory. A CUDA graph needs its own memory pool."""
        low = any(trick.name in ("bf16", "fp16") for trick in variant)
        return int((0.7 if low else 1.2) * self.facts.peak_bytes) + (700 << 20)

    def _report(self, variant: Variant, phase: str) -> None:
        name = self.name(variant)
        row = variant_row(name, phase, variant, self.pool.outcome(name))
        found = self.measured.get(variant)
        if found is not None and row.verdict != IMPOSSIBLE:
            gate = self.gates.judge(self.pool, variant, name)
            fill_row(row, found.turns, found.base, found.gain, found.peak_bytes, gate)
        self.rows = [r for r in self.rows if (r.label, r.phase) != (name, phase)] + [row]
