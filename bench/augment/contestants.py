"""The contestants of `bench augment`. Each one is a process that waits for its turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ..common import peers
from ..common.rows import CPUS, ROOT
from .operations import SIDE, Operation

PROGRAM = ROOT / "build" / "release" / "bench_augment"
PEERS = ["albumentations", "dali"]


@dataclass(frozen=True)
class Contestant:
    name: str  # name in the table
    module: str = ""  # module in this folder; empty for tundish, which is a program
    cpu: str = ""  # value of TUNDISH_CPU
    peer: str = ""  # name of the contestant's environment in common/peers.py
    part: str = ""  # what a turn without an operation measures, from report.PARTS; empty: nothing


REFERENCE = "torchvision, PIL"
CONTESTANTS = [
    *[Contestant(f"tundish, {CPUS[cpu]}", cpu=cpu, part="copy") for cpu in ("avx512", "avx2")],
    Contestant(REFERENCE, "torchvision_pil"),
    Contestant("torchvision, tensors", "torchvision_tensor"),
    Contestant("albumentations", "albumentations_arrays", peer="albumentations"),
    Contestant("DALI CPU", "dali", peer="dali", part="pipeline"),
]


class Unavailable(Exception):
    """Raised if a contestant cannot run on this machine. The message is the reason."""


class Player:
    """The process of a contestant."""

    def __init__(self, who: Contestant, pictures: Path) -> None:
        self.who = who
        self.versions: dict[str, str] = {}
        self._process = subprocess.Popen(
            [*_command(who), str(pictures)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | ({"TUNDISH_CPU": who.cpu} if who.cpu else {}),
        )
        hello = self._read()
        self.versions = hello.get("versions", {})
        if who.cpu and hello["cpu"] != who.cpu:
            self.end()
            raise Unavailable(f"this machine has {CPUS[hello['cpu']]} at best")

    def us(self, operation: Operation, milliseconds: float) -> float | None:
        """Returns the microseconds per image, or None if this contestant lacks the operation."""
        return self._ask(operation, milliseconds=milliseconds).get("us")

    def part_us(self, milliseconds: float) -> float:
        """Returns the microseconds of a turn without an operation."""
        nothing = (
            {"operation": "nothing", "arguments": {}} if self.who.module else {"transforms": []}
        )
        return float(self._send(nothing | {"milliseconds": milliseconds})["us"])

    def results(self, operation: Operation, file: Path) -> np.ndarray | None:
        if "missing" in self._ask(operation, keep=str(file)):
            return None
        return np.fromfile(file, np.uint8).reshape(-1, SIDE, SIDE, 3)

    def end(self) -> None:
        """Closes the process's input and waits for the process to end."""
        self._process.communicate()

    def _ask(self, operation: Operation, **more: Any) -> dict[str, Any]:
        if not self.who.module:
            return self._send({"transforms": [operation.transform._json()]} | more)
        asked = {"operation": operation.name, "arguments": operation.all_arguments()}
        return self._send(asked | more)

    def _send(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        _, errors = self._process.communicate()
        raise Unavailable((errors.strip().splitlines() or ["it failed without a word"])[-1])


class Players:
    """Context manager that starts all contestants that can run here, and ends them."""

    def __init__(self, chosen: list[Contestant], pictures: Path) -> None:
        self.players: list[Player] = []
        self.refused: dict[str, str] = {}  # why contestants cannot run, by name
        for who in chosen:
            try:
                self.players.append(Player(who, pictures))
            except Unavailable as error:
                self.refused[who.name] = f"not available: {error}"

    def __enter__(self) -> Players:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for player in self.players:
            player.end()


def _command(who: Contestant) -> list[str]:
    if not who.module:
        return [str(PROGRAM)]
    python = peers.python_of(who.peer) if who.peer else sys.executable
    if python is None:
        raise Unavailable(f"{who.peer} is not installed; --peers installs it")
    return [str(python), "-W", "ignore", "-m", f"bench.augment.{who.module}"]
