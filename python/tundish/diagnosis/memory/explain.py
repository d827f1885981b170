"""Explains the peak of a step: memory by kind, by line and over time."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict

from ...tuning.memory.live_memory import Block
from ...tuning.memory.long_lived import LongLived, left_behind, sorted_worst_first
from ...tuning.source_lines import Line
from ..probe.profiles.recorded_facts import LongLivedFacts, MemoryCurve, MemoryFacts, MemoryRow
from .allocation_sites import AllocationSite
from .block_history import KINDS, PERSISTENT_KINDS, MemoryRecording, assign_kinds, is_alive

MOST_ROWS = 30
MOST_POINTS = 160
LEAST_KEPT_SHARE = 0.01  # smallest fraction of the peak that is reported as kept across steps


def explain(seen: MemoryRecording) -> MemoryFacts:
    """Explains the last recorded step."""
    lasting = _long_lived(seen)  # must precede assign_kinds, which changes temporary blocks
    assign_kinds(seen)
    begin, end = seen.bounds[-2], seen.bounds[-1]
    curve = _curve(seen.blocks, begin, end)
    top = max(range(len(curve)), key=lambda index: sum(curve[index][1].values()))
    position, kinds = curve[top]
    mark = seen.mark_at(position)
    rows, rest = _rows([block for block in seen.blocks if _is_at(block, position)])
    rounding = max(0, (seen.torch_peak or 0) - sum(kinds.values()))
    if rounding:
        kinds = kinds + Counter(rounding=rounding)
        rows.append(_row("rounding", Line(), 0, rounding))
    peak = sum(kinds.values())
    return MemoryFacts(
        device=seen.device,
        steps=len(seen.bounds) - 1,
        peak_bytes=peak,
        torch_peak_bytes=seen.torch_peak,
        part=mark.part,
        file=mark.place.script.file,
        line=mark.place.script.number,
        kinds={kind: kinds[kind] for kind in KINDS if kinds[kind]},
        rows=rows,
        rest_bytes=rest,
        curve=_thinned(seen, curve),
        long_lived=[
            LongLivedFacts(**asdict(tensor)) for tensor in lasting if _is_significant(tensor, peak)
        ],
        notes=seen.notes,
    )


def _is_at(block: Block, position: int) -> bool:
    return block.made <= position and (block.freed is None or block.freed >= position)


def _curve(blocks: list[Block], begin: int, end: int) -> list[tuple[int, Counter[str]]]:
    """Returns bytes by kind at each position of the step that allocates or frees a block."""
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
    for position in sorted({*made, *(at for at in gone if begin <= at < end)}):
        for block in gone.get(position, ()):
            now[block.kind] -= block.bytes
        for block in made.get(position, ()):
            now[block.kind] += block.bytes
        out.append((position, Counter(now)))
    return out


def _rows(blocks: list[Block]) -> tuple[list[MemoryRow], int]:
    """Returns rows by kind and line, largest first, and the bytes of the omitted rows."""
    sizes: Counter[tuple[str, Line]] = Counter()
    counts: Counter[tuple[str, Line]] = Counter()
    for block in blocks:
        # for a block that existed before, the known line would only be its first use
        line = Line() if block.kind in ("parameters", "buffers", "optimizer") else block.line
        sizes[block.kind, line] += block.bytes
        counts[block.kind, line] += 1
    ordered = sorted(sizes, key=lambda key: -sizes[key])
    rows = [_row(*key, counts[key], sizes[key]) for key in ordered[:MOST_ROWS]]
    return rows, sum(sizes[key] for key in ordered[MOST_ROWS:])


def _row(kind: str, line: Line, count: int, size: int) -> MemoryRow:
    script = line.script if isinstance(line, AllocationSite) else line
    return MemoryRow(
        kind=kind,
        file=script.file,
        line=script.number,
        inner=line.inner if isinstance(line, AllocationSite) else "",
        count=count,
        bytes=size,
    )


def _thinned(seen: MemoryRecording, curve: list[tuple[int, Counter[str]]]) -> MemoryCurve:
    """Reduces the curve to at most MOST_POINTS points. Keeps the highest point of each interval."""
    size = max(1, -(-len(curve) // MOST_POINTS))
    pieces = [curve[at : at + size] for at in range(0, len(curve), size)]
    points = [max(piece, key=lambda point: sum(point[1].values())) for piece in pieces]
    kinds = [kind for kind in KINDS if any(point[1][kind] for point in points)]
    return MemoryCurve(
        parts=[seen.mark_at(position).part for position, _ in points],
        kinds={kind: [point[1][kind] for point in points] for kind in kinds},
    )


def _long_lived(seen: MemoryRecording) -> list[LongLived]:
    """Returns the memory that steps leave behind, grouped by the user's line."""
    if len(seen.bounds) < 3:
        return []
    left = []
    for bound in seen.bounds[1:]:
        found: defaultdict[Line, list[Block]] = defaultdict(list)
        for block in seen.blocks:
            if block.kind not in (*PERSISTENT_KINDS, "batch", "other") and is_alive(block, bound):
                line = block.line.script if isinstance(block.line, AllocationSite) else block.line
                found[line].append(block)
        left.append(dict(found))
    return sorted_worst_first(left_behind(left, seen.bounds[-2] - 1))


def _is_significant(tensor: LongLived, peak: int) -> bool:
    return tensor.reason == "grows" or tensor.bytes >= LEAST_KEPT_SHARE * peak
