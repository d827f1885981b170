"""tundish.optim.Muon on a GPU: accuracy, CUDA graphs and time.

    python -m tests.gpu.muon     on a machine with a GPU, driver, Python and torch

Compares with torch.optim.Muon and with the formula in fp64. The 48 matrices are ViT-B's. Times are
per step: including the host, and for a CUDA graph of the step. torch's Muon reads the learning rate
on the host, so torch's graph contains the rate as a constant. The last line counts checks.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from tundish import optim

from tests.optim.muon_formula import matrices, step_by_formula
from tests.optim.muon_measures import all_equal, distance, momentum_of

GPU = torch.device("cuda")


def on_gpu(dtype: torch.dtype = torch.float32) -> list[Any]:
    return [torch.nn.Parameter(p.detach().to(GPU)) for p in matrices(dtype)]


def draw_gradients(*lists: list[Any], step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameters in zip(*lists):
        gradient = torch.randn(parameters[0].shape, generator=generator)
        for p in parameters:
            p.grad = gradient.to(p.device, p.dtype, copy=True)


def vit_b(depth: int = 12, width: int = 768) -> list[Any]:
    shapes = ((3 * width, width), (width, width), (4 * width, width), (width, 4 * width))
    out = []
    for shape in shapes * depth:
        parameter = torch.nn.Parameter(0.02 * torch.randn(shape, device=GPU))
        parameter.grad = torch.randn(shape, device=GPU)
        out.append(parameter)
    return out


def check_200_steps(dtype: torch.dtype, limit: float) -> int:
    ours, theirs = on_gpu(dtype), on_gpu(dtype)
    starts = [p.detach().double().clone() for p in ours]
    states: list[dict[str, Any]] = [{"weights": s, "momentum": torch.zeros_like(s)} for s in starts]
    optimizer, reference = optim.Muon(ours, lr=0.02), torch.optim.Muon(theirs, lr=0.02)
    for step in range(200):
        draw_gradients(ours, theirs, step=step)
        for state, p in zip(states, ours):
            step_by_formula(state, p.grad.double(), lr=0.02)
        optimizer.step()
        reference.step()
    exact = [state["weights"] for state in states]
    names = ("ours from fp64", "torch from fp64", "ours from torch")
    values = (
        distance(ours, exact, starts),
        distance(theirs, exact, starts),
        distance(ours, [p.detach() for p in theirs], starts),
    )
    print(dtype, ", ".join(f"{name} {value:.4f}" for name, value in zip(names, values)))
    assert values[0] <= limit
    assert values[0] <= 1.5 * values[1]
    for a, b in zip(momentum_of(optimizer, ours), momentum_of(reference, theirs)):
        torch.testing.assert_close(a, b, rtol=1e-5 if dtype == torch.float32 else 1e-2, atol=1e-6)
    return 3


def capture(step: Callable[[], Any], warm_up: int = 3) -> torch.cuda.CUDAGraph:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(warm_up):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph


def check_graph() -> int:
    """Checks a graph whose learning rate changes between replays, and that the host never waits."""
    ours, plain = on_gpu(), on_gpu()
    rates = [torch.tensor(0.02, device=GPU) for _ in range(2)]
    optimizer, other = optim.Muon(ours, lr=rates[0]), optim.Muon(plain, lr=rates[1])
    draw_gradients(ours, plain, step=0)
    graph = capture(optimizer.step, warm_up=1)
    other.step()
    torch.cuda.set_sync_debug_mode("error")
    for _ in range(10):
        graph.replay()
        other.step()
        for rate in rates:
            rate.mul_(0.9)
    torch.cuda.set_sync_debug_mode("default")
    assert all_equal(ours, plain)
    fresh = on_gpu()
    draw_gradients(fresh, step=0)
    late = optim.Muon(fresh)
    message = ""
    try:
        capture(late.step, warm_up=0)
    except ValueError as error:
        message = str(error)
    assert "run one step before the capture" in message
    return 2


def check_scaler() -> int:
    ours = on_gpu()
    optimizer, scaler = optim.Muon(ours), torch.amp.GradScaler("cuda", init_scale=8.0)
    for bad in (False, True):
        draw_gradients(ours, step=0)
        scaler.scale(torch.ones((), device=GPU))
        if bad:
            ours[3].grad[0, 0] = float("inf")
        before = [
            p.detach().clone() for p in (*ours, *(momentum_of(optimizer, ours) if bad else ()))
        ]
        torch.cuda.set_sync_debug_mode("error")
        scaler.step(optimizer)
        torch.cuda.set_sync_debug_mode("default")
        after = [*ours, *(momentum_of(optimizer, ours) if bad else ())]
        assert all_equal(before, after) == bad
        scaler.update()
    return 2


def milliseconds(run: Callable[[], Any], count: int = 20) -> float:
    times = []
    for _ in range(count):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return 1e3 * sorted(times)[count // 2]


def time_steps() -> int:
    found = {}
    for name, kind in (("torch.optim.Muon", torch.optim.Muon), ("tundish.optim.Muon", optim.Muon)):
        optimizer = kind(vit_b(), lr=1e-4)
        optimizer.step()
        torch.cuda.reset_peak_memory_stats()
        held = torch.cuda.memory_allocated()
        plain = milliseconds(optimizer.step)
        extra = (torch.cuda.max_memory_allocated() - held) / 2**20
        host = time.perf_counter()
        optimizer.step()
        host = 1e3 * (time.perf_counter() - host)
        graph = capture(optimizer.step)
        found[name] = (plain, milliseconds(graph.replay))
        print(
            f"{name}: step {plain:.2f} ms, graph {found[name][1]:.2f} ms, "
            f"host {host:.2f} ms, work memory {extra:.0f} MiB"
        )
    theirs, ours = found.values()
    print(f"step {theirs[0] / ours[0]:.2f}x, graph {theirs[1] / ours[1]:.2f}x")
    return 0


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("muon: no GPU")
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    checks = check_200_steps(torch.float32, 0.03) + check_200_steps(torch.bfloat16, 0.3)
    checks += check_graph() + check_scaler()
    time_steps()
    print(f"{checks} checks passed")


if __name__ == "__main__":
    main()
