"""The fresh run: the best of many measurements looks better than it is, so the winner is timed again.

In processes of their own, in turns: baseline, its twin, the winner, the human recipe; on a GPU also
strict fp32 and torch's default flags, so that a report can name every baseline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .compare import Turn, compare, middle_ms
from .gates import Verdict
from .results import COMPARED, KEPT, Row
from .rows import Variant, fill_row, label, variant_row
from .tricks.reference_flags import StrictFp32, TorchDefaults
from .variants import pair_noise

if TYPE_CHECKING:
    from .search import Search

BASELINE, TWIN, HUMAN = "baseline", "twin", "human recipe"
STRICT, DEFAULTS, WINNER = "strict fp32", "torch defaults", "winner"
ROUNDS = 10
USELESS = 0.5  # a threshold above this: only a gain of half could be seen


def confirm(search: Search) -> None:
    """Sets the winner for good, the gains against every baseline, and the rows of the fresh run."""
    search.progress("a fresh run of the winner")
    variants = chosen(search)
    trials = {name: name if name in (BASELINE, TWIN) else f"fresh {name}" for name in variants}
    search.stage.end(*[n for n in search.stage.alive() if n not in (BASELINE, TWIN)])
    for name, variant in variants.items():
        search.stage.start(trials[name], variant, need_bytes=search.need(variant))
    found = search.stage.measure(list(trials.values()), rounds=ROUNDS)
    turns = {name: found[trial] for name, trial in trials.items() if trial in found}
    if BASELINE not in turns or TWIN not in turns:
        search.notes.append("the fresh run failed: nothing was confirmed, the plan is empty")
        search.winner = ()
        return
    base, twin = turns[BASELINE], turns[TWIN]
    noise = compare(base, twin, twin)
    search.twin_noise = {"spread": abs(noise.gain - 1), "threshold": noise.threshold - 1}
    won = settle(search, variants, turns)
    for name, other in turns.items():
        if name not in (TWIN, WINNER):
            search.gains[name] = compare(other, won, pair_noise(other, base, twin))
    if search.winner and not search.gains[BASELINE].faster and not search.target_bytes:
        search.notes.append("in a fresh run the best variant was not faster: the plan is empty")
        search.winner = ()
    if not search.winner:
        search.gains = {}
    if search.twin_noise["threshold"] > USELESS:
        search.notes.append(
            f"this machine is too busy to measure: identical steps differ by "
            f"{search.twin_noise['spread']:.0%}; run again when it is idle"
        )
    for name in turns:
        search.rows.append(confirmed_row(search, name, trials[name], variants[name], turns))


def chosen(search: Search) -> dict[str, Variant]:
    variants: dict[str, Variant] = {BASELINE: (), TWIN: ()}
    if search.winner:
        variants[WINNER] = search.winner
    if human := search.human_recipe():
        variants[HUMAN] = human
    if search.facts.cuda:
        variants |= {STRICT: (StrictFp32(),), DEFAULTS: (TorchDefaults(),)}
    return variants


def settle(
    search: Search, variants: dict[str, Variant], turns: dict[str, list[Turn]]
) -> list[Turn]:
    """The turns of the plan: the winner's; the human recipe's where that is faster, sound, and fits."""
    won = turns.get(WINNER, turns[BASELINE])
    theirs = turns.get(HUMAN)
    if theirs is None or middle_ms(theirs) >= 0.99 * middle_ms(won):
        return won
    gate = search.gates.judge(search.stage, variants[HUMAN], f"fresh {HUMAN}")
    peak = search.stage.memory(f"fresh {HUMAN}") or 0
    gain = compare(turns[BASELINE], theirs, turns[TWIN])
    if gate.broken or not gain.faster or (search.target_bytes and peak > search.target_bytes):
        return won
    search.notes.append("the usual recipe was faster in the fresh run: it is the plan")
    search.winner = variants[HUMAN]
    return theirs


def confirmed_row(
    search: Search, name: str, trial: str, variant: Variant, turns: dict[str, list[Turn]]
) -> Row:
    checked = variant and name in (WINNER, HUMAN)
    gate = search.gates.judge(search.stage, variant, trial) if checked else Verdict(False, "", "")
    gain = compare(turns[BASELINE], turns[name], turns[TWIN])
    shown = label(variant) if name == WINNER else name
    row = variant_row(shown, "confirm", variant, search.stage.outcome(trial))
    fill_row(row, turns[name], turns[BASELINE], gain, search.stage.memory(trial), gate)
    row.verdict = KEPT if checked and variant == search.winner else COMPARED
    return row
