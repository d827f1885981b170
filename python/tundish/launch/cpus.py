"""Assigns CPUs to ranks: equal shares of whole cores, preferring cores near the rank's GPU."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

Core = tuple[int, ...]  # the CPUs (hardware threads) of one core


def parse_cpu_list(text: str) -> list[int]:
    """Parses a CPU list in the kernel's notation: "0-3,8" becomes [0, 1, 2, 3, 8]. May raise ValueError."""
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return sorted(cpus)


def format_cpu_list(cpus: Collection[int]) -> str:
    """Formats CPUs in the kernel's notation: [0, 1, 2, 3, 8] becomes "0-3,8"."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def read_cpu_list(file: Path) -> list[int] | None:
    """Returns the CPUs listed in `file`, or None if the file is missing or malformed."""
    try:
        return parse_cpu_list(file.read_text())
    except (OSError, ValueError):
        return None


def usable_cpus() -> set[int]:
    """Returns the CPUs that this process may run on."""
    return os.sched_getaffinity(0)


def group_by_core(usable: Collection[int], sys_root: str | Path = "/sys") -> list[Core]:
    """Groups the usable CPUs by core, ordered by the first CPU of each core."""
    cores: set[Core] = set()
    allowed = set(usable)
    for cpu in allowed:
        folder = Path(sys_root) / f"devices/system/cpu/cpu{cpu}/topology"
        together = read_cpu_list(folder / "thread_siblings_list") or [cpu]
        cores.add(tuple(sorted({cpu, *together} & allowed)))
    return sorted(cores)


def share_cores(cores: Sequence[Core], local: Sequence[Collection[int] | None]) -> list[list[int]]:
    """Returns the CPUs of each rank.

    `local` has one entry per rank: the CPUs near the rank's GPU, or None if unknown. Every core is
    assigned to one rank, and shares differ by at most one core. A rank gets cores near its GPU
    first. CPUs of NUMA nodes without a GPU are shared too, because a loader can use them. With
    fewer cores than ranks, every rank may run on all CPUs.
    """
    ranks = len(local)
    everywhere = [cpu for core in cores for cpu in core]
    if len(cores) < ranks:
        return [sorted(everywhere) for _ in local]
    near = [frozenset(everywhere if cpus is None else cpus) for cpus in local]
    free = list(cores)
    shares: list[list[Core]] = [[] for _ in local]
    least, one_more = divmod(len(cores), ranks)  # `one_more` ranks get an extra core
    # Smallest sets first, because a rank without preferred cores must not take cores near another rank's GPU.
    for group in sorted(set(near), key=lambda cpus: (len(cpus), sorted(cpus))):
        members = [rank for rank in range(ranks) if near[rank] == group]
        candidates = [core for core in free if group.issuperset(core)]
        for rank, count in zip(members, _even([0] * len(members), len(candidates))):
            shares[rank] = candidates[: min(count, least + (one_more > 0))]
            one_more -= len(shares[rank]) > least
            candidates = candidates[count:]
        taken = {core for rank in members for core in shares[rank]}
        free = [core for core in free if core not in taken]
    before = [len(share) for share in shares]
    for rank, count in enumerate(_even(before, len(free))):
        more = count - before[rank]
        shares[rank] += free[:more]
        free = free[more:]
    return [sorted(cpu for core in share for cpu in core) for share in shares]


def _even(counts: list[int], more: int) -> list[int]:
    """Returns `counts` after adding 1 to the smallest count, `more` times."""
    counts = list(counts)
    for _ in range(more):
        counts[counts.index(min(counts))] += 1
    return counts
