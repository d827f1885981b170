"""Measures the machine's limits: bytes per second of a copy, and FLOPs per second of a matrix product.

This takes about a second. It draws no random numbers and restores all torch settings.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .layer_facts import RoofFacts

MOST_S = 0.15  # time limit per measurement, after warm-up
COPY_BYTES = {"cuda": 512 << 20, "cpu": 64 << 20}  # larger than the caches
_LONG_ENOUGH_S = {"cuda": 2e-3, "cpu": 10e-3}
_TYPES = {"fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}
_SMALLEST = {
    "cuda": 256,
    "cpu": 512,
}  # on a busy CPU, the time of a 256 x 256 product would mostly show other programs
_LARGEST = {"cuda": 8192, "cpu": 2048}


def measure_roof(device: Any, precisions: Iterable[str]) -> RoofFacts:
    """Returns the limits of the machine. Omits rates that cannot be measured."""
    began = time.perf_counter()
    torch = sys.modules["torch"]
    rates = {}
    # Autocast is disabled here, because the script's loop may be inside it.
    with torch.no_grad(), torch.autocast(device.type, enabled=False):
        copied = _copy_rate(torch, device)
        for name in sorted(set(precisions)):
            rate = _matrix_rate(torch, device, name)
            if rate:
                rates[name] = rate
    return RoofFacts(copied, rates, time.perf_counter() - began)


def _copy_rate(torch: Any, device: Any) -> float | None:
    size = COPY_BYTES[device.type]
    if device.type == "cuda":  # leave room for the script's tensors
        size = min(size, torch.cuda.mem_get_info(device)[0] // 8 & -(1 << 20))
    while size >= 1 << 20:
        try:
            source = torch.ones(size // 4, device=device, dtype=torch.float32)
            target = torch.empty_like(source)
            return 2 * size / time_call(functools.partial(target.copy_, source), device)
        except RuntimeError:  # out of memory
            size //= 4
    return None


def _matrix_rate(torch: Any, device: Any, name: str) -> float | None:
    dtype = getattr(torch, _TYPES.get(name, name), None)
    if not isinstance(dtype, torch.dtype):
        return None
    n = _SMALLEST[device.type]
    try:
        with _float32_products(torch, device, name):
            while True:
                matrix = _filled(torch, n, device).to(dtype)
                seconds = time_call(functools.partial(torch.mm, matrix, matrix), device, 0.0)
                if seconds >= _LONG_ENOUGH_S[device.type] or n >= _LARGEST[device.type]:
                    break
                n *= 2
            best = min(seconds, time_call(functools.partial(torch.mm, matrix, matrix), device))
    except RuntimeError:  # out of memory, or the product is not supported
        return None
    return float(2 * n**3 / best)


def _filled(torch: Any, n: int, device: Any) -> Any:
    """Returns a matrix without zeros. GPUs multiply zeros faster, because this takes less power."""
    values = torch.linspace(-1, 1, n * n, device=device, dtype=torch.float32)
    return values.view(n, n)


@contextlib.contextmanager
def _float32_products(torch: Any, device: Any, name: str) -> Iterator[None]:
    """Context manager that sets the precision of float32 products on a GPU: "fp32" or "tf32"."""
    if device.type != "cuda" or name not in ("fp32", "tf32"):
        yield
        return
    settings = torch.backends.cuda.matmul
    before = settings.allow_tf32
    settings.allow_tf32 = name == "tf32"
    try:
        yield
    finally:
        settings.allow_tf32 = before


def time_call(function: Callable[[], object], device: Any, most_s: float = MOST_S) -> float:
    """Returns the shortest duration of a call, over as many calls as fit into `most_s`."""
    torch = sys.modules["torch"]
    seconds_of = _on_gpu if device.type == "cuda" else _on_cpu
    seconds_of(torch, function)  # warm-up
    best, until = seconds_of(torch, function), time.perf_counter() + most_s
    for _ in range(3):
        best = min(best, seconds_of(torch, function))
    while time.perf_counter() < until:
        best = min(best, seconds_of(torch, function))
    return best


def _on_cpu(torch: Any, function: Callable[[], object]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def _on_gpu(torch: Any, function: Callable[[], object]) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    function()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1e3
