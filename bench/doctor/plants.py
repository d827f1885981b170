"""A training script with a planted bottleneck: python -m bench.doctor.plants NAME FOLDER [options]

--removed runs the script without the bottleneck. FOLDER has the photos for "decode". The script
trains until it is terminated. With --steps N, it trains for N steps and prints the wall time and the
CPU time of a step in seconds. It trains on the GPU if there is one; the bottlenecks in ON_GPU only
have an effect there.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

BATCH = 8
PLANTS = ("storage", "decode", "transform", "workers", "host", "compute", "straggler")
ON_GPU = ("copy", "sync", "launch")
FORWARD_S = {
    "sync": 0.015,
    "copy": 0.02,
    "launch": 0.0,
    "compute": 0.2,
    "none": 0.02,
    "decode": 0.05,
    "transform": 0.05,
}
CPUS = (
    2  # CPUs of the script; with more CPUs, more workers would be the correct fix for slow decoding
)


CYCLES = 1.7e9  # approximate GPU cycles per second
COPIED = (64, 512, 512)  # 64 MiB of float32


class Network(torch.nn.Module):
    """Some layers and a fixed waiting time, so that the length of a step is known."""

    def __init__(self, seconds: float, count: int = 20) -> None:
        super().__init__()
        layers = [torch.nn.Linear(64, 64) for _ in range(count)]
        self.layers, self.seconds = torch.nn.Sequential(*layers), seconds

    def forward(self, x: torch.Tensor) -> Any:
        if x.is_cuda and self.seconds:
            torch.cuda._sleep(int(self.seconds * CYCLES))  # runs a kernel that only waits
        elif self.seconds:
            time.sleep(self.seconds)
        return self.layers(x.flatten(1)[:, :64].float())


class Samples(Dataset[Any]):
    def __init__(self, read_s: float = 0.0, rounds: int = 0) -> None:
        self.read_s, self.rounds = read_s, rounds

    def __len__(self) -> int:
        return 100_000

    def read(self, index: int) -> torch.Tensor:
        if self.read_s:
            time.sleep(self.read_s)
        return torch.ones(64)

    def transform(self, x: torch.Tensor) -> torch.Tensor:
        total = 0
        for number in range(self.rounds):
            total += number % 7
        return x + total * 0

    def __getitem__(self, index: int) -> Any:
        return self.transform(self.read(index)), index % 64


class OneBatch(Dataset[Any]):
    """A dataset that repeats one large batch, without a copy on the CPU."""

    def __init__(self, pinned: bool) -> None:
        self.images = torch.ones(COPIED)
        if pinned:
            self.images = self.images.pin_memory()

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Any:
        return self.images, torch.zeros(len(self.images), dtype=torch.int64)


def photos(folder: str) -> Dataset[Any]:
    from torchvision import datasets
    from torchvision.transforms import v2

    steps = [v2.ToImage(), v2.CenterCrop(64), v2.RandomHorizontalFlip()]
    return datasets.ImageFolder(folder, v2.Compose([*steps, v2.ToDtype(torch.float32, scale=True)]))


def parts_of(name: str, folder: str, removed: bool, rank: int) -> tuple[Any, float, float]:
    """Returns the loader, the seconds of the forward pass, and the seconds of host code."""
    loader: Any = DataLoader(Samples(), BATCH)
    if name == "storage":
        loader = DataLoader(Samples(0.0 if removed else 0.05), BATCH, num_workers=1)
    elif name == "decode":
        # Too many images for two workers. With fewer images, "workers" would be the right answer.
        loader = DataLoader(photos(folder), 16 * BATCH, shuffle=True, drop_last=True)
        if not len(loader):
            raise SystemExit(f"{folder}: {len(loader.dataset)} photos, {16 * BATCH} are needed")
    elif name == "transform":
        loader = DataLoader(Samples(rounds=0 if removed else 800_000), BATCH, num_workers=1)
    elif name == "workers":
        loader = DataLoader(Samples(0.02), BATCH)
    elif name == "copy":
        loader = DataLoader(OneBatch(removed and torch.cuda.is_available()), batch_size=None)
    elif name == "straggler" and rank == 1 and not removed:
        loader = DataLoader(Samples(0.03), BATCH)
    return loader, FORWARD_S.get(name, 0.1), {"host": 0.15, "sync": 0.006}.get(name, 0.0)


def log_metrics(seconds: float) -> None:
    time.sleep(seconds)


def step_as_graph(model: Any, optimizer: Any, x: torch.Tensor, y: torch.Tensor) -> Any:
    """Returns a step that replays the kernels of the loop as one CUDA graph."""
    x, y = x.clone(), y.clone()

    def step() -> None:
        loss = torch.nn.functional.cross_entropy(model(x), y % 64)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def replay(new_x: torch.Tensor, new_y: torch.Tensor) -> None:
        x.copy_(new_x)
        y.copy_(new_y)
        graph.replay()

    return replay


def clocks() -> tuple[float, float]:
    """Waits until the GPU is idle. Returns the wall time and the CPU time."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter(), time.process_time()


def train(name: str, folder: str, removed: bool, steps: int, rank: int = 0) -> None:
    torch.set_num_threads(1)
    loader, forward_s, host_s = parts_of(name, folder, removed, rank)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model: Any = Network(forward_s, 300 if name == "launch" else 20).to(device)
    waits = name == "sync" and not removed
    ahead = name == "copy" and removed
    if name == "straggler":
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), 1e-6)
    replay: Any = None
    done, begin, cpu = 0, 0.0, 0.0
    while True:
        for x, y in loader:
            x, y = x.to(device, non_blocking=ahead), y.to(device)
            if name == "launch" and removed:
                replay = replay or step_as_graph(model, optimizer, x, y)
                replay(x, y)
            else:
                loss = torch.nn.functional.cross_entropy(model(x), y % 64)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            if waits:
                loss.item()
            if host_s and (name == "sync" or not removed):
                log_metrics(host_s)
            done += 1
            if done == 5:
                begin, cpu = clocks()
            if steps and done == steps + 5:
                wall, used = clocks()
                print((wall - begin) / steps, (used - cpu) / steps)
                return


def rank_of(rank: int, name: str, folder: str, removed: bool, steps: int) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": os.environ.get("PORT", "29511")}
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    train(name, folder, removed, steps, rank)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=[*PLANTS, *ON_GPU, "none"])
    parser.add_argument("folder")
    parser.add_argument("--removed", action="store_true")
    parser.add_argument("--steps", type=int, default=0)
    given = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CPUS])
    if given.name == "straggler":
        words = (given.name, given.folder, given.removed, given.steps)
        torch.multiprocessing.spawn(rank_of, words, nprocs=2)
    else:
        train(given.name, given.folder, given.removed, given.steps)


if __name__ == "__main__":
    main()
