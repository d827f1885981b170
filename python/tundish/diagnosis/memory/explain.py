"""The peak of a step explained: by kind, by line, and the way there."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict
from typing import Any

from ...tuning.memory.live_memory import Block
from ...tuning.memory.long_lived import LongLived, left_behind, sorted_worst_first
from ...tuning.memory.source_lines import Line
from .allocation_sites import Place
from .block_history import KINDS, OWNED, Recorded, is_alive, settle_kinds

MOST_ROWS = 30
MOST_POINTS = 160
KEPT_SHARE = 0.01  # of the peak: what is kept from step to step and smaller is not worth a line


def explain(seen: Recorded) -> dict[str, Any]:
    """Of the last step, as JSON."""
    lasting = _long_lived(seen)  # needs to know what was temporary
    settle_kinds(seen)
    begin, end = seen.bounds[-2], seen.bounds[-1]
    curve = _curve(seen.blocks, begin, end)
    top = max(range(len(curve)), key=lambda index: sum(curve[index][1].values()))
    position, kinds = curve[top]
    mark = seen.mark_at(position)
    rows, rest = _rows([one for one in seen.blocks if _is_at(one, position)])
    rounding = max(0, (seen.torch_peak or 0) - sum(kinds.values()))
    if rounding:
        kinds = kinds + Counter(rounding=rounding)
        rows.append(_row("rounding", Line(), 0, rounding))
    peak = sum(kinds.values())
    return {
        "device": seen.device,
        "steps": len(seen.bounds) - 1,
        "peak_bytes": peak,
        "torch_peak_bytes": seen.torch_peak,
        "part": mark.part,
        "file": mark.place.script.file,
        "line": mark.place.script.number,
        "kinds": {kind: kinds[kind] for kind in KINDS if kinds[kind]},
        "rows": rows,
        "rest_bytes": rest,
        "curve": _thinned(seen, curve),
        "long_lived": [asdict(one) for one in lasting if _is_worth(one, peak)],
        "notes": seen.notes,
    }


def _is_at(block: Block, position: int) -> bool:
    return block.made <= position and (block.freed is None or block.freed >= position)


def _curve(blocks: list[Block], begin: int, end: int) -> list[tuple[int, Counter[str]]]:
    """Bytes by kind at each position of the step at which something was made."""
    made: defaultdict[int, list[Block]] = defaultdict(list)
    gone: defaultdict[int, list[Block]] = defaultdict(list)
    now: Counter[str] = Counter()
    for block in blocks:
        if block.made < begin:
            if block.freed is None or block.freed >= begin:
                now[block.kind] += block.bytes
            else:
                continue
        elif block.made < end:
            made[block.made].append(block)
        if block.freed is not None and block.freed + 1 >= begin:
            gone[block.freed + 1].append(block)
    out = [(begin, Counter(now))]
    for position in sorted({*made, *(one for one in gone if begin <= one < end)}):
        for block in gone.get(position, ()):
            now[block.kind] -= block.bytes
        for block in made.get(position, ()):
            now[block.kind] += block.bytes
        out.append((position, Counter(now)))
    return out


def _rows(blocks: list[Block]) -> tuple[list[dict[str, Any]], int]:
    """By kind and line, the largest first; and the bytes of what is left out."""
    sizes: Counter[tuple[str, Line]] = Counter()
    counts: Counter[tuple[str, Line]] = Counter()
    for block in blocks:
        # What existed before has no line that says anything: the one that used it first.
        line = Line() if block.kind in ("parameters", "buffers", "optimizer") else block.line
        sizes[block.kind, line] += block.bytes
        counts[block.kind, line] += 1
    ordered = sorted(sizes, key=lambda key: -sizes[key])
    rows = [_row(*key, counts[key], sizes[key]) for key in ordered[:MOST_ROWS]]
    return rows, sum(sizes[key] for key in ordered[MOST_ROWS:])


def _row(kind: str, line: Line, count: int, size: int) -> dict[str, Any]:
    script = line.script if isinstance(line, Place) else line
    return {
        "kind": kind,
        "file": script.file,
        "line": script.number,
        "inner": line.inner if isinstance(line, Place) else "",
        "count": count,
        "bytes": size,
    }


def _thinned(seen: Recorded, curve: list[tuple[int, Counter[str]]]) -> dict[str, Any]:
    """At most MOST_POINTS points, of each piece the highest, so that the peak is among them."""
    size = max(1, -(-len(curve) // MOST_POINTS))
    pieces = [curve[at : at + size] for at in range(0, len(curve), size)]
    points = [max(piece, key=lambda point: sum(point[1].values())) for piece in pieces]
    kinds = [kind for kind in KINDS if any(point[1][kind] for point in points)]
    return {
        "parts": [seen.mark_at(position).part for position, _ in points],
        "kinds": {kind: [point[1][kind] for point in points] for kind in kinds},
    }


def _long_lived(seen: Recorded) -> list[LongLived]:
    """What steps leave behind, by the user's line."""
    if len(seen.bounds) < 3:
        return []
    left = []
    for bound in seen.bounds[1:]:
        found: defaultdict[Line, list[Block]] = defaultdict(list)
        for block in seen.blocks:
            if block.kind not in (*OWNED, "batch", "other") and is_alive(block, bound):
                line = block.line.script if isinstance(block.line, Place) else block.line
                found[line].append(block)
        left.append(dict(found))
    return sorted_worst_first(left_behind(left, seen.bounds[-2] - 1))


def _is_worth(one: LongLived, peak: int) -> bool:
    return one.why == "grows" or one.bytes >= KEPT_SHARE * peak
