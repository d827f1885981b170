"""Plans the ranks of this machine: the environment, CPUs, threads and GPU of each rank."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._c.errors import ArgumentError, Error
from .cpus import format_cpu_list, group_by_core, share_cores
from .gpus import Gpu

DEFAULT_PORT = 29500  # torch's default, for runs on several machines, which must agree on a port


@dataclass(frozen=True)
class Rank:
    rank: int
    local_rank: int
    gpu: Gpu | None
    cpus: tuple[int, ...] | None  # None if the rank is not bound to CPUs
    environment: dict[str, str]  # variables added to the launcher's environment

    @property
    def threads(self) -> str:
        return self.environment["OMP_NUM_THREADS"]

    def with_variables(self, more: dict[str, str]) -> Rank:
        return replace(self, environment={**self.environment, **more})

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
class RunTopology:
    """Number of machines and ranks, the number of this machine, and the address of rank 0."""

    ranks: int  # number of ranks on every machine
    nodes: int = 1
    node: int = 0
    address: str = "127.0.0.1"
    port: int = 0

    @property
    def world_size(self) -> int:
        return self.ranks * self.nodes


def count_ranks(asked: int | None, gpus: Sequence[Gpu], visible: str | None) -> int:
    """Returns the number of ranks: `asked`, or one per GPU, or 1. `visible` is CUDA_VISIBLE_DEVICES."""
    if asked is None:
        return len(gpus) or 1
    if gpus and asked > len(gpus):
        visible_text = "1 GPU is" if len(gpus) == 1 else f"{len(gpus)} GPUs are"
        why = "" if visible is None else f" (CUDA_VISIBLE_DEVICES={visible})"
        raise ArgumentError(
            f"{asked} ranks, but {visible_text} visible{why}: two ranks cannot share a GPU with NCCL\n"
            f"  fix: --ranks {len(gpus)}, or train on CPUs: CUDA_VISIBLE_DEVICES= tundish run ..."
        )
    return asked


def torchrun_environment(topology: RunTopology, local_rank: int) -> dict[str, str]:
    """Returns the environment variables that torchrun sets, for torch's env:// rendezvous."""
    rank = topology.node * topology.ranks + local_rank
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(local_rank),
        "WORLD_SIZE": str(topology.world_size),
        "LOCAL_WORLD_SIZE": str(topology.ranks),
        "GROUP_RANK": str(topology.node),
        "GROUP_WORLD_SIZE": str(topology.nodes),
        "ROLE_NAME": "default",
        "ROLE_RANK": str(rank),
        "ROLE_WORLD_SIZE": str(topology.world_size),
        "MASTER_ADDR": topology.address,
        "MASTER_PORT": str(topology.port),
        # Frameworks check these variables to detect a launcher.
        "TORCHELASTIC_RUN_ID": "tundish",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "TORCHELASTIC_USE_AGENT_STORE": "False",  # rank 0 holds the store
    }


def default_environment(cpu_count: int, ranks: int, given: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment variables that the launcher sets unless the user has set them.

    `cpu_count`: number of CPUs that are available according to affinity and cgroup quota.
    """
    each = str(max(1, cpu_count // ranks))
    defaults = {
        "OMP_NUM_THREADS": each,
        "PYTHONUNBUFFERED": "1",  # if a rank dies, its buffered output would be lost
        "PYTHONFAULTHANDLER": "1",  # a crash in C or CUDA code shows the Python line
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
    }
    kept = {name: given.get(name) or value for name, value in defaults.items()}
    return {**kept, "TUNDISH_CPUS_PER_RANK": each}  # so that tundish.Loader does not divide again


def plan_ranks(
    topology: RunTopology,
    gpus: Sequence[Gpu],
    usable: set[int],
    cpu_count: int,
    given: Mapping[str, str],
    bind: bool = True,
    sys_root: str | Path = "/sys",
) -> list[Rank]:
    """Returns the ranks of this machine. `given` is the launcher's environment."""
    own = [gpus[i] if i < len(gpus) else None for i in range(topology.ranks)]
    cpus: list[tuple[int, ...] | None] = [None] * topology.ranks
    cores = group_by_core(usable, sys_root)
    if bind and 1 < topology.ranks <= len(cores):
        local = [gpu.local_cpus if gpu else None for gpu in own]
        near = [set(nearby) & usable if nearby else None for nearby in local]
        cpus = [tuple(share) for share in share_cores(cores, [nearby or None for nearby in near])]
    more = default_environment(cpu_count, topology.ranks, given)
    return [
        Rank(
            rank=topology.node * topology.ranks + i,
            local_rank=i,
            gpu=own[i],
            cpus=cpus[i],
            environment={**torchrun_environment(topology, i), **more},
        )
        for i in range(topology.ranks)
    ]


def split_address(text: str) -> tuple[str, int]:
    """Splits "host", "host:29500" or "[::1]:29500" into host and port. The port is 0 if none is given."""
    host, colon, port = text.rpartition(":")
    if not colon or (text.count(":") > 1 and not host.endswith("]")):
        host, port = text, ""
    if (port and not (port.isdigit() and 0 < int(port) < 65536)) or (colon and text.endswith(":")):
        raise ArgumentError(
            f"--address {text}: {port!r} is not a port\n  fix: --address HOST:29500"
        )
    return host.removeprefix("[").removesuffix("]"), int(port or 0)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def check_port(port: int) -> None:
    """Raises an error if the port is in use on this machine. Otherwise all ranks would wait for minutes."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            raise Error(
                f"port {port}, where rank 0 would wait for the other ranks: {os.strerror(error.errno or 0)}\n"
                f"  fix: use another port on every machine: --address HOST:{port + 1}"
            ) from None
