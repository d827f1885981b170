"""Measures the share of time in which the GPU runs any kernel, as counted by the driver."""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import threading
import time
from collections.abc import Callable

EVERY_S = 0.1
WINDOW_S = 0.5  # a sample covers this much time before it, so the start of a turn is dropped


class Busy:
    """Takes samples in a background thread. `share` returns None if the driver cannot be queried."""

    def __init__(self, device: str) -> None:
        self.samples: list[tuple[float, float]] = []  # (time, share)
        self._end = threading.Event()
        ask = _way_to_ask() if device == "cuda" else None
        self.works = ask is not None
        if ask is not None:
            threading.Thread(target=self._run, args=(ask,), daemon=True).start()

    def _run(self, ask: Callable[[], float]) -> None:
        while not self._end.wait(EVERY_S):
            with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
                share = ask()
                self.samples.append((time.perf_counter(), share))

    def share(self, begin: float, end: float) -> float | None:
        """Returns the mean share of the samples between two times."""
        first = min(begin + WINDOW_S, (begin + end) / 2)
        values = [share for when, share in self.samples if first <= when <= end]
        return sum(values) / len(values) if values else None

    def close(self) -> None:
        self._end.set()


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


def _way_to_ask() -> Callable[[], float] | None:
    """Returns a function that queries the driver's library, or nvidia-smi if there is no library."""
    for way in (_by_library, _by_program):
        with contextlib.suppress(OSError, AttributeError, ValueError, subprocess.SubprocessError):
            ask = way()
            ask()
            return ask
    return None


def _by_library() -> Callable[[], float]:
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    device = ctypes.c_void_p()
    if nvml.nvmlInit_v2() != 0 or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) != 0:
        raise OSError("NVML sees no GPU")

    def ask() -> float:
        out = _Utilization()
        if nvml.nvmlDeviceGetUtilizationRates(device, ctypes.byref(out)) != 0:
            raise OSError("NVML gives no utilization")
        return out.gpu / 100

    return ask


def _by_program() -> Callable[[], float]:
    line = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]

    def ask() -> float:
        done = subprocess.run(line, capture_output=True, text=True, timeout=5, check=True)
        return float(done.stdout.split()[0]) / 100

    return ask
