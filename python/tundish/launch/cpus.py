"""Which CPUs each rank gets: equal shares of whole cores, those near its GPU first."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

Core = tuple[int, ...]  # the CPUs (hyper-threads) of one core


def parse_cpu_list(text: str) -> list[int]:
    """The kernel's notation: "0-3,8" is [0, 1, 2, 3, 8]. ValueError for anything else."""
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return sorted(cpus)


def format_cpu_list(cpus: Collection[int]) -> str:
    """[0, 1, 2, 3, 8] as "0-3,8"."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def read_cpu_list(file: Path) -> list[int] | None:
    """None: there is no such file, or it holds something else."""
    try:
        return parse_cpu_list(file.read_text())
    except (OSError, ValueError):
        return None


def usable_cpus() -> set[int]:
    """The CPUs that this process may run on."""
    return os.sched_getaffinity(0)


def cores_of(usable: Collection[int], sys_root: str | Path = "/sys") -> list[Core]:
    """The usable CPUs, those of one core together, in the order of their first CPU."""
    cores: set[Core] = set()
    allowed = set(usable)
    for cpu in allowed:
        folder = Path(sys_root) / f"devices/system/cpu/cpu{cpu}/topology"
        together = read_cpu_list(folder / "thread_siblings_list") or [cpu]
        cores.add(tuple(sorted({cpu, *together} & allowed)))
    return sorted(cores)


def share_cores(cores: Sequence[Core], local: Sequence[Collection[int] | None]) -> list[list[int]]:
    """The CPUs of each rank. `local` has one entry per rank: the CPUs near its GPU, None: unknown.

    Every core goes to one rank, and the shares differ by one core at most. A rank gets cores near its
    GPU while there are some; CPUs of nodes without a GPU are shared too, since a loader can use
    them. With fewer cores than ranks, every rank may run everywhere.
    """
    ranks = len(local)
    everywhere = [cpu for core in cores for cpu in core]
    if len(cores) < ranks:
        return [sorted(everywhere) for _ in local]
    near = [frozenset(everywhere if one is None else one) for one in local]
    free = list(cores)
    shares: list[list[Core]] = [[] for _ in local]
    least, one_more = divmod(len(cores), ranks)  # so many ranks get one core more than the others
    # The smallest sets first: a rank that may run anywhere takes nothing that another one needs.
    for group in sorted(set(near), key=lambda one: (len(one), sorted(one))):
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
    """The counts after `more` were added one by one, each to the smallest."""
    counts = list(counts)
    for _ in range(more):
        counts[counts.index(min(counts))] += 1
    return counts
