"""The fresh run: times the winner again, because the best of many measurements looks better than it is.

These variants take turns: the baseline (the user's unchanged step), its twin (the same step in a second
process), the winner, and the human recipe (what people apply by hand). On a GPU, strict fp32 and torch's
default flags take part too, so that the report can compare the plan with all of them. The winner runs in a
new process, because one process may be lucky; with --quick, it keeps its process.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..report.results import COMPARED, KEPT, NOT_CHECKED, REJECTED, Row
from ..trials.paired_times import TimedTurn, compare, middle_ms
from ..trials.pool import TURN_S
from ..trials.trial import TrialFailed
from ..tricks.reference_flags import StrictFp32, TorchDefaults
from .choice import choose, equally_fast, one_off_s
from .gates import GateVerdict
from .rows import Variant, fill_row, label, variant_row
from .variants import MeasuredVariant, pair_noise

if TYPE_CHECKING:
    from .search import Search

BASELINE, TWIN, HUMAN = "baseline", "twin", "human recipe"
STRICT, DEFAULTS, WINNER = "strict fp32", "torch defaults", "winner"
FALLBACK_LAYERS = "layers that lose channels_last"
ROUNDS, QUICK_ROUNDS, FEWEST_ROUNDS = 10, 6, 4
FRESH_S = 25.0  # time to start a process and load code that was compiled before
END_S = 2.0  # time to write the rows and end all processes
REFERENCE_STEPS = 12  # for trials whose losses are not checked
USELESS = 0.5  # noise threshold above which only gains of more than 50 % would be detected


def confirm(search: Search) -> None:
    """Makes the fresh run. Sets the final winner, its gains over every reference, and the rows."""
    search.progress("a fresh run of the winner")
    variants = chosen(search)
    trials = {name: trial_name(search, name, variant) for name, variant in variants.items()}
    search.pool.end(*[n for n in search.pool.alive() if n not in trials.values()])
    for name, variant in variants.items():
        start_trial(search, trials[name], name, variant)
    for name in (HUMAN, STRICT, DEFAULTS):
        limit = search.deadline - FEWEST_ROUNDS * round_s(search) - END_S
        if name in trials and not search.pool.is_ready_by(trials[name], limit):
            search.pool.end(trials.pop(name))
            search.has_no_time(name, "to compare with")
    found = search.pool.measure(list(trials.values()), rounds=rounds_of(search))
    turns = {name: found[trial] for name, trial in trials.items() if trial in found}
    if BASELINE not in turns or TWIN not in turns:
        late = time.monotonic() >= search.deadline
        why = "no time left for the fresh run" if late else "the fresh run failed"
        more = "; --minutes gives more" if late else ""
        search.notes.append(f"{why}: nothing was confirmed, the plan is empty{more}")
        search.winner = ()
        return
    base, twin = turns[BASELINE], turns[TWIN]
    search.baseline_ms = middle_ms(base)
    noise = compare(base, twin, twin)
    search.twin_noise = {"spread": abs(noise.gain - 1), "threshold": noise.threshold - 1}
    chosen_name = choose_final_plan(search, variants, trials, turns)
    won = turns[chosen_name]
    drop_broken_plan(search, chosen_name, trials)
    for name, other in turns.items():
        if name not in (TWIN, WINNER):
            search.gains[name] = compare(other, won, pair_noise(other, base, twin))
    if search.winner and not search.gains[BASELINE].faster and not search.target_bytes:
        search.notes.append("the best variant was not faster in a fresh run: the plan is empty")
        search.winner = ()
    if not search.winner:
        search.gains = {}
    if search.twin_noise["threshold"] > USELESS:
        search.notes.append(
            f"this machine is too busy for measurements: identical steps differ by "
            f"{search.twin_noise['spread']:.0%}; run again when it is idle"
        )
    kept = chosen_name if search.winner else ""
    for name in turns:
        row = confirmed_row(search, name, trials[name], variants[name], turns)
        row.verdict = KEPT if name == kept else row.verdict
        search.rows.append(row)


def start_human_recipe(search: Search) -> None:
    """Starts the human recipe. Called after the winner is compiled, because both share kernels."""
    if human := search.human_recipe():
        start_trial(search, search.name(human), HUMAN, human)


def start_references(search: Search) -> None:
    """Starts the references of the fresh run early, so that they are ready when the search ends."""
    for name, variant in flags_of(search).items():
        start_trial(search, trial_name(search, name, variant), name, variant)
    if any(trick.name == "channels_last" for trick in search.winner):
        start_fallback_layers(search)


def start_fallback_layers(search: Search) -> None:
    search.pool.start_call(
        FALLBACK_LAYERS,
        "tundish.tuning.tricks.channels_last:find_fallback_layers",
        need_bytes=search.gates.need_bytes,
        source=search.gates.source,
        seed=search.gates.seed,
    )


def fallback_layers(search: Search) -> list[str]:
    """Returns the layers whose output is not channels_last in the winner. Each of them costs a copy."""
    if not any(trick.name == "channels_last" for trick in search.winner):
        return []
    start_fallback_layers(search)
    if not search.pool.is_ready_by(FALLBACK_LAYERS, search.deadline):
        return []
    try:
        return list(search.pool.result(FALLBACK_LAYERS) or [])
    except TrialFailed:
        return []


def start_trial(search: Search, trial: str, name: str, variant: Variant) -> None:
    steps = REFERENCE_STEPS if name in (STRICT, DEFAULTS) else 0
    search.pool.start(trial, variant, need_bytes=search.need(variant), steps=steps)


def trial_name(search: Search, name: str, variant: Variant) -> str:
    """Returns the name of a trial from the search that can be reused, or a new name."""
    if name in (BASELINE, TWIN):
        return name
    if name == HUMAN and variant != search.winner:
        return search.name(variant)
    if name == WINNER and search.quick:
        return search.name(variant)
    return f"fresh {name}"


def rounds_of(search: Search) -> int:
    """Returns the number of rounds that the remaining time allows."""
    usual = QUICK_ROUNDS if search.quick else ROUNDS
    left = search.deadline - time.monotonic() - END_S
    return min(usual, max(FEWEST_ROUNDS, int(left / round_s(search))))


def round_s(search: Search) -> float:
    """Returns the approximate seconds of one round of the fresh run."""
    step_s = 1e-3 * search.pool.outcome(BASELINE).step_ms
    return len(chosen(search)) * (0.1 + 1.2 * max(TURN_S, 2 * step_s))


def confirm_s(search: Search) -> float:
    """Returns the approximate minimum seconds of the fresh run."""
    turns_s = (FEWEST_ROUNDS if search.quick else ROUNDS) * round_s(search)
    return turns_s + END_S + (0.0 if search.quick else FRESH_S)


def flags_of(search: Search) -> dict[str, Variant]:
    return {STRICT: (StrictFp32(),), DEFAULTS: (TorchDefaults(),)} if search.facts.cuda else {}


def chosen(search: Search) -> dict[str, Variant]:
    variants: dict[str, Variant] = {BASELINE: (), TWIN: ()}
    if search.winner:
        variants[WINNER] = search.winner
    if human := search.human_recipe():
        variants[HUMAN] = human
    return variants | flags_of(search)


def choose_final_plan(
    search: Search,
    variants: dict[str, Variant],
    trials: dict[str, str],
    turns: dict[str, list[TimedTurn]],
) -> str:
    """Chooses the winner, or the human recipe if it is better, correct and fits. Returns the trial's name."""
    won = WINNER if WINNER in turns else BASELINE
    if HUMAN not in turns or variants[HUMAN] == search.winner:
        return won
    timed = dict(search.measured)
    for name in (won, HUMAN):
        once = one_off_s(timed, variants[name])
        peak = search.pool.memory(trials[name])
        timed[variants[name]] = MeasuredVariant(
            turns[name], turns[BASELINE], turns[TWIN], peak, once
        )
    human = variants[HUMAN]
    gate = search.gates.judge(search.pool, human, trials[HUMAN])
    gain, peak = timed[human].gain, timed[human].peak_bytes or 0
    if gate.broken or not gain.faster or (search.target_bytes and peak > search.target_bytes):
        return won
    theirs = timed[variants[won]].gain
    if theirs.faster and choose(timed, [search.winner, human]) != human:
        return won
    faster = won == BASELINE or not equally_fast(gain, theirs)
    better = "faster" if faster else "as fast as the best variant, and cheaper,"
    search.notes.append(f"the human recipe was {better} in the fresh run: it is the plan")
    search.winner = human
    return HUMAN


def drop_broken_plan(search: Search, name: str, trials: dict[str, str]) -> None:
    """Empties the plan if the numbers of its fresh run are wrong. Notes if nothing could judge them."""
    if name == BASELINE:
        return
    gate = search.gates.judge(search.pool, search.winner, trials[name])
    if gate.late:
        search.notes.append(f"{NOT_CHECKED}: {gate.text}")
    elif gate.broken:
        search.notes.append(f"wrong numbers in a fresh run: {gate.text}; the plan is empty")
        search.winner = ()
    elif not gate.judged:
        search.notes.append(gate.text)


def confirmed_row(
    search: Search, name: str, trial: str, variant: Variant, turns: dict[str, list[TimedTurn]]
) -> Row:
    checked = variant and name in (WINNER, HUMAN)
    gate = (
        search.gates.judge(search.pool, variant, trial) if checked else GateVerdict(False, "", "")
    )
    gain = compare(turns[BASELINE], turns[name], turns[TWIN])
    shown = label(variant) if name == WINNER else name
    row = variant_row(shown, "confirm", variant, search.pool.outcome(trial))
    # The fresh run finds compiled code in torch's cache, so the first compilation counts.
    row.one_off_s = max(row.one_off_s or 0.0, one_off_s(search.measured, variant))
    fill_row(row, turns[name], turns[BASELINE], gain, search.pool.memory(trial), gate)
    is_wrong = name == WINNER and gate.broken and not gate.late
    row.verdict = REJECTED if is_wrong else COMPARED
    return row
