"""The optimizers of tundish.optim on a GPU.

    python -m tests.gpu.optim [--out FILE]     needs a GPU with its driver and torch

Every optimizer makes 200 steps on the GPU and on the CPU from the same gradients: bitwise equal
results without sums, within a few units in the last place with sums. Also covered: torch's fused
kernels; a step captured in a CUDA graph with a changing learning rate; a GradScaler that skips;
gradients that move; channels_last; 16-bit parameters; clipping and an average in the same step;
states that move between CPU and GPU; a first step that a scaler skips.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tundish import optim

from bench.common.result_files import result_text

SHAPES = [(64, 3, 7, 7), (64,), (256, 64, 1, 1), (1000, 130), (1000,), (7,), (1,), (33, 17)]
STEPS = 200
EXACT = {
    "sgd": lambda p, **more: optim.SGD(p, 0.05, momentum=0.9, weight_decay=1e-3, **more),
    "nesterov": lambda p, **more: optim.SGD(p, 0.05, momentum=0.9, nesterov=True, **more),
    "adam": lambda p, **more: optim.Adam(p, 1e-3, weight_decay=1e-2, **more),
    "adamw": lambda p, **more: optim.AdamW(p, 1e-3, **more),
    "lion": lambda p, **more: optim.Lion(p, 1e-4, weight_decay=1e-2, **more),
}
SUMS = {
    "lars": lambda p, **more: optim.LARS(p, 0.1, momentum=0.9, weight_decay=1e-3, **more),
    "lamb": lambda p, **more: optim.LAMB(p, 1e-2, weight_decay=1e-2, **more),
    "nvlamb": lambda p, **more: optim.NVLAMB(p, 1e-2, **more),
    "novograd": lambda p, **more: optim.NovoGrad(p, 1e-2, weight_decay=1e-3, **more),
}


def parameters(device: str, dtype: torch.dtype = torch.float32) -> list[torch.nn.Parameter]:
    draw = torch.Generator().manual_seed(0)
    return [
        torch.nn.Parameter((0.1 * torch.randn(shape, generator=draw)).to(device, dtype))
        for shape in SHAPES
    ]


def set_gradients(sides: list[list[torch.nn.Parameter]], step: int, bad: bool = False) -> None:
    """Sets equal gradients on all sides, in new memory each time."""
    draw = torch.Generator().manual_seed(step)
    for places in zip(*sides):
        gradient = torch.randn(places[0].shape, generator=draw)
        if bad:
            gradient.view(-1)[0] = float("inf")
        for parameter in places:
            parameter.grad = gradient.to(parameter.device, parameter.dtype, copy=True)


def ulps(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    a, b = ours.detach().double().cpu(), theirs.detach().double().cpu()
    size = torch.maximum(b.abs(), b.square().mean().sqrt())
    unit = torch.exp2(torch.floor(torch.log2(size.clamp(min=1e-30))) - 23)
    return float(((a - b).abs() / unit).max())


def farthest(ours: list[Any], theirs: list[Any]) -> float:
    return max(ulps(a, b) for a, b in zip(ours, theirs))


def on_both(make: Callable[..., Any], most: float, **more: Any) -> str:
    gpu, cpu = parameters("cuda"), parameters("cpu")
    optimizers = [make(gpu, **more), make(cpu, **more)]
    for step in range(STEPS):
        set_gradients([gpu, cpu], step)
        for optimizer in optimizers:
            optimizer.step()
    found = farthest(gpu, cpu)
    assert found <= most, f"{found} ulps after {STEPS} steps"
    return f"{found:.1f} ulps after {STEPS} steps"


def against_fused(kind: str) -> str:
    ours, theirs = parameters("cuda"), parameters("cuda")
    options: dict[str, Any] = {"lr": 0.05, "momentum": 0.9} if kind == "SGD" else {"lr": 1e-3}
    optimizers = [
        getattr(optim, kind)(ours, **options),
        getattr(torch.optim, kind)(theirs, fused=True, **options),
    ]
    for step in range(STEPS):
        set_gradients([ours, theirs], step)
        for optimizer in optimizers:
            optimizer.step()
    found = farthest(ours, theirs)
    assert found <= 400, found
    return f"{found:.1f} ulps after {STEPS} steps"


def recorded(make: Callable[..., Any], **more: Any) -> str:
    """Checks that replays of a graph equal the steps of a plain loop, with changing rates."""
    graphed, plain = parameters("cuda"), parameters("cuda")
    optimizers = [make(graphed, **more), make(plain, **more)]
    for step in range(3):
        set_gradients([graphed, plain], step)
        for optimizer in optimizers:
            optimizer.step()
    rate = torch.tensor(1e-2, device="cuda")
    for group in optimizers[0].param_groups:
        group["lr"] = rate
    static = [torch.zeros_like(p) for p in graphed]
    for parameter, gradient in zip(graphed, static):
        parameter.grad = gradient
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizers[0].step()
    for step in range(3, 23):
        set_gradients([plain], step)
        for gradient, parameter in zip(static, plain):
            gradient.copy_(parameter.grad)
        value = 1e-2 / (1 + step)
        rate.fill_(value)
        for group in optimizers[1].param_groups:
            group["lr"] = float(torch.tensor(value))
        graph.replay()
        optimizers[1].step()
    found = farthest(graphed, plain)
    assert found <= 4, found
    counts = [int(s["step"]) for s in optimizers[0].state.values() if "step" in s]
    assert all(count == 23 for count in counts), counts
    # A step outside the graph in between, with separate gradients.
    set_gradients([graphed, plain], 99)
    for optimizer in optimizers:
        optimizer.step()
    assert farthest(graphed, plain) <= 4
    return f"{found:.1f} ulps, 20 replays"


def recorded_too_early() -> str:
    """Checks that a capture is refused if it would create states and clear them in every replay."""
    side = parameters("cuda")
    optimizer = optim.AdamW(side)
    set_gradients([side], 0)
    message = ""
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            optimizer.step()
    except ValueError as error:
        message = str(error)
    assert "run one step before the capture" in message, message
    optimizer.step()  # the attempt has no side effects
    torch.cuda.synchronize()
    return "refused"


def scaled(make: Callable[..., Any], scaler_kind: Any) -> str:
    gpu, cpu = parameters("cuda"), parameters("cpu")
    optimizers = [make(gpu), make(cpu)]
    scalers = [
        scaler_kind("cuda", init_scale=1024.0, growth_interval=3),
        scaler_kind("cpu", init_scale=1024.0, growth_interval=3),
    ]
    skipped = 0
    for step in range(20):
        bad = step in (0, 7)
        skipped += bad
        set_gradients([gpu, cpu], step, bad)
        for scaler, optimizer, side in zip(scalers, optimizers, (gpu, cpu)):
            scaler.scale(torch.zeros((), device=side[0].device))
            for parameter in side:
                parameter.grad *= scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
        assert scalers[0].get_scale() == scalers[1].get_scale(), step
    found = farthest(gpu, cpu)
    assert found <= 4, found
    return f"{found:.1f} ulps, {skipped} of 20 steps skipped"


def skipped_first(make: Callable[..., Any], between: str) -> str:
    """A first step that a scaler skips does not count: the momentum starts without dampening."""
    gpu, cpu = parameters("cuda"), parameters("cpu")
    one, other = make(gpu), make(cpu)
    scaler = optim.GradScaler("cuda", init_scale=2.0)
    scaler.scale(torch.zeros((), device="cuda"))
    set_gradients([gpu], 0, True)
    scaler.step(one)
    scaler.update()
    if between == "load":
        assert not any(one.state_dict()["state"].values())
        one.load_state_dict(copy.deepcopy(one.state_dict()))
    for step in range(1, 5):
        set_gradients([gpu, cpu], step)
        if between == "gradients" and step == 1:
            gpu[-1].grad = cpu[-1].grad = None
        one.step()
        other.step()
    assert farthest(gpu, cpu) <= 40, farthest(gpu, cpu)
    return f"{farthest(gpu, cpu):.1f} ulps"


def in_16_bits(dtype: torch.dtype, **more: Any) -> str:
    gpu, cpu = parameters("cuda", dtype), parameters("cpu", dtype)
    torch.manual_seed(5)  # for stochastic rounding
    optimizers = []
    for side in (gpu, cpu):
        torch.manual_seed(5)
        optimizers.append(optim.AdamW(side, 1e-3, **more))
    for step in range(50):
        set_gradients([gpu, cpu], step)
        for optimizer in optimizers:
            optimizer.step()
    for a, b in zip(gpu, cpu):
        assert torch.equal(a.cpu(), b)
    return "equal bits after 50 steps"


def in_channels_last() -> str:
    gpu, cpu = parameters("cuda"), parameters("cpu")
    for side in (gpu, cpu):
        side[0].data = side[0].data.to(memory_format=torch.channels_last)
    optimizers = [optim.AdamW(gpu), optim.AdamW(cpu)]
    for step in range(20):
        set_gradients([gpu, cpu], step)  # contiguous gradients
        for optimizer in optimizers:
            optimizer.step()
    assert farthest(gpu, cpu) == 0
    assert gpu[0].is_contiguous(memory_format=torch.channels_last)
    return "equal bits"


def all_in_one() -> str:
    """Compares clipping combined with an average against torch's separate calls."""
    ours, theirs = parameters("cuda"), parameters("cuda")
    one = optim.AdamW(ours, 1e-3, max_norm=1.0, ema_decay=0.99)
    other = torch.optim.AdamW(theirs, 1e-3, fused=True)
    averages = [p.detach().clone() for p in theirs]
    for step in range(50):
        set_gradients([ours, theirs], step)
        one.step()
        norm = torch.nn.utils.clip_grad_norm_(theirs, 1.0)
        other.step()
        torch._foreach_lerp_(averages, [p.detach() for p in theirs], 0.01)
        assert abs(float(one.grad_norm) / float(norm) - 1) < 1e-5
    found = farthest(ours, theirs), farthest([one.state[p]["ema"] for p in ours], averages)
    assert max(found) <= 400, found
    return f"{found[0]:.1f} ulps, averages {found[1]:.1f}"


def states_move() -> str:
    gpu, cpu = parameters("cuda"), parameters("cpu")
    one = optim.AdamW(gpu)
    for step in range(5):
        set_gradients([gpu], step)
        one.step()
    for a, b in zip(cpu, gpu):
        a.data.copy_(b.data)
    other = optim.AdamW(cpu)
    other.load_state_dict(copy.deepcopy(one.state_dict()))
    fused = [torch.nn.Parameter(p.detach().clone()) for p in gpu]
    third = torch.optim.AdamW(fused, fused=True)
    third.load_state_dict(copy.deepcopy(one.state_dict()))
    for step in range(5, 10):
        set_gradients([gpu, cpu, fused], step)
        for optimizer in (one, other, third):
            optimizer.step()
    assert farthest(gpu, cpu) == 0
    assert farthest(gpu, fused) <= 20
    return "from the GPU to the CPU and to torch's fused kernels"


def checks() -> dict[str, Callable[[], str]]:
    out: dict[str, Callable[[], str]] = {}
    for name, make in EXACT.items():
        out[f"{name}, GPU and CPU"] = lambda make=make: on_both(make, 0)
        out[f"{name}, clipped"] = lambda make=make: on_both(make, 40, max_norm=1.0)
    for name, make in SUMS.items():
        out[f"{name}, GPU and CPU"] = lambda make=make: on_both(make, 40)
    for name, make in {**EXACT, **SUMS}.items():
        out[f"{name}, recorded"] = lambda make=make: recorded(make)
        out[f"{name}, scaled"] = lambda make=make: scaled(make, optim.GradScaler)
    out["adamw, recorded with clipping and an average"] = lambda: recorded(
        EXACT["adamw"], max_norm=1.0, ema_decay=0.9
    )
    for between in ("nothing", "load", "gradients"):
        for kind in (optim.SGD, optim.LARS):
            make = partial(kind, lr=0.1, momentum=0.9, dampening=0.5)
            out[f"{kind.__name__}, first step skipped, {between}"] = partial(
                skipped_first, make, between
            )
    out["adamw, torch's scaler"] = lambda: scaled(EXACT["adamw"], torch.amp.GradScaler)
    for kind in ("SGD", "Adam", "AdamW"):
        out[f"{kind} and torch's fused"] = lambda kind=kind: against_fused(kind)
    for dtype in (torch.bfloat16, torch.float16):
        word = str(dtype).removeprefix("torch.")
        out[f"{word}"] = lambda dtype=dtype: in_16_bits(dtype)
        out[f"{word}, master weights"] = lambda dtype=dtype: in_16_bits(dtype, master_weights=True)
        out[f"{word}, stochastic rounding"] = lambda dtype=dtype: in_16_bits(
            dtype, stochastic_rounding=True
        )
    out["recorded before the first step"] = recorded_too_early
    out["channels_last"] = in_channels_last
    out["clipping and average in one step"] = all_in_one
    out["states move"] = states_move
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows, failed = [], 0
    for name, check in checks().items():
        begin = time.monotonic()
        try:
            found, ok = check(), True
        except Exception as error:
            found, ok = f"{type(error).__name__}: {error}", False
            failed += 1
        print(f"{'ok     ' if ok else 'FAILED '} {name}: {found}", flush=True)
        rows.append(
            {"check": name, "ok": ok, "found": found, "s": round(time.monotonic() - begin, 2)}
        )
    print(f"{len(rows)} checks, {failed} failed", flush=True)
    if options.out:
        about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
        options.out.write_text(result_text({**about, "rows": rows}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
