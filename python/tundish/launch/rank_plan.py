"""What every rank of this machine gets: its environment, CPUs, threads and GPU."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._c.errors import ArgumentError, Error
from .cpus import cores_of, format_cpu_list, share_cores
from .gpus import Gpu

DEFAULT_PORT = 29500  # torch's own, when several machines have to agree on one


@dataclass(frozen=True)
class Rank:
    rank: int
    local_rank: int
    gpu: Gpu | None
    cpus: tuple[int, ...] | None  # None: not bound
    environment: dict[str, str]  # what is added to the launcher's

    @property
    def threads(self) -> str:
        return self.environment["OMP_NUM_THREADS"]

    def as_json(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            "local_rank": self.local_rank,
            "gpu": self.gpu.as_json() if self.gpu else None,
            "cpus": None if self.cpus is None else format_cpu_list(self.cpus),
            "threads": self.threads,
            "environment": self.environment,
        }


@dataclass(frozen=True)
class Place:
    """This machine among those of the run, and where rank 0 waits for the others."""

    ranks: int  # on every machine
    nodes: int = 1
    node: int = 0
    address: str = "127.0.0.1"
    port: int = 0

    @property
    def world_size(self) -> int:
        return self.ranks * self.nodes


def count_ranks(asked: int | None, gpus: Sequence[Gpu], visible: str | None) -> int:
    """One rank per GPU, one without a GPU. `visible`: CUDA_VISIBLE_DEVICES, for the message."""
    if asked is None:
        return len(gpus) or 1
    if gpus and asked > len(gpus):
        some = "1 GPU is" if len(gpus) == 1 else f"{len(gpus)} GPUs are"
        why = "" if visible is None else f" (CUDA_VISIBLE_DEVICES={visible})"
        raise ArgumentError(
            f"{asked} ranks, but {some} visible{why}: two ranks cannot share a GPU with NCCL\n"
            f"  fix: --ranks {len(gpus)}, or train on CPUs: CUDA_VISIBLE_DEVICES= tundish run ..."
        )
    return asked


def environment_of(place: Place, local_rank: int) -> dict[str, str]:
    """The variables that torchrun sets, for torch's rendezvous env://."""
    rank = place.node * place.ranks + local_rank
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(local_rank),
        "WORLD_SIZE": str(place.world_size),
        "LOCAL_WORLD_SIZE": str(place.ranks),
        "GROUP_RANK": str(place.node),
        "GROUP_WORLD_SIZE": str(place.nodes),
        "ROLE_NAME": "default",
        "ROLE_RANK": str(rank),
        "ROLE_WORLD_SIZE": str(place.world_size),
        "MASTER_ADDR": place.address,
        "MASTER_PORT": str(place.port),
        # Frameworks look at these to see that ranks were started for them.
        "TORCHELASTIC_RUN_ID": "tundish",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "TORCHELASTIC_USE_AGENT_STORE": "False",  # rank 0 holds the store
    }


def defaults_of(cpu_count: int, ranks: int, given: Mapping[str, str]) -> dict[str, str]:
    """What the launcher sets unless the user did. cpu_count: by affinity and cgroup quota."""
    each = str(max(1, cpu_count // ranks))
    defaults = {
        "OMP_NUM_THREADS": each,
        "PYTHONUNBUFFERED": "1",  # a pipe would hold back what a rank printed before it died
        "PYTHONFAULTHANDLER": "1",  # a crash in C or CUDA code names the line of Python
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
    }
    kept = {name: given.get(name) or value for name, value in defaults.items()}
    return {**kept, "TUNDISH_CPUS_PER_RANK": each}  # not divided again by tundish.Loader


def plan_ranks(
    place: Place,
    gpus: Sequence[Gpu],
    usable: set[int],
    cpu_count: int,
    given: Mapping[str, str],
    bind: bool = True,
    sys_root: str | Path = "/sys",
) -> list[Rank]:
    """The ranks of this machine. `given`: the launcher's environment."""
    own = [gpus[i] if i < len(gpus) else None for i in range(place.ranks)]
    cpus: list[tuple[int, ...] | None] = [None] * place.ranks
    cores = cores_of(usable, sys_root)
    if bind and 1 < place.ranks <= len(cores):
        local = [gpu.local_cpus if gpu else None for gpu in own]
        near = [set(one) & usable if one else None for one in local]
        cpus = [tuple(share) for share in share_cores(cores, [one or None for one in near])]
    more = defaults_of(cpu_count, place.ranks, given)
    return [
        Rank(
            rank=place.node * place.ranks + i,
            local_rank=i,
            gpu=own[i],
            cpus=cpus[i],
            environment={**environment_of(place, i), **more},
        )
        for i in range(place.ranks)
    ]


def split_address(text: str) -> tuple[str, int]:
    """ "host", "host:29500" or "[::1]:29500"; port 0: none was given."""
    host, colon, port = text.rpartition(":")
    if not colon or (text.count(":") > 1 and not host.endswith("]")):
        host, port = text, ""
    if (port and not (port.isdigit() and 0 < int(port) < 65536)) or (colon and text.endswith(":")):
        raise ArgumentError(
            f"--address {text}: {port!r} is not a port\n  fix: --address HOST:29500"
        )
    return host.removeprefix("[").removesuffix("]"), int(port or 0)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def check_port(port: int) -> None:
    """On the machine of rank 0: known before every rank waits for minutes."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("", port))
        except OSError as error:
            raise Error(
                f"port {port}, where rank 0 would wait for the other ranks: {os.strerror(error.errno or 0)}\n"
                f"  fix: another port on every machine: --address HOST:{port + 1}"
            ) from None
