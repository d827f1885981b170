"""The context of a measurement: the machine, the versions and the state of the code."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from importlib import metadata
from typing import Any


def machine() -> dict[str, Any]:
    """Returns CPU model, usable cores and memory, and the GPU if torch is imported and sees one.

    "busy" is the fraction of CPU time that other processes currently use.
    """
    out: dict[str, Any] = {
        "cpu": _first("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": _first("/etc/os-release", "PRETTY_NAME").strip('"') or platform.system(),
        "busy": round(_busy(), 2),
    }
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        out["gpu"] = torch.cuda.get_device_name()
    return out


def versions(*more: str) -> dict[str, str]:
    """Returns the versions of installed packages without importing them."""
    from .._c.library import version

    out = {"tundish": version(), "python": platform.python_version()}
    for name in ("numpy", "torch", "pillow", *more):
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return out


def commit(folder: str | os.PathLike[str]) -> str:
    """Returns the commit of a Git checkout, with a trailing "+" if tracked files are modified.

    Returns "" outside of a checkout.
    """
    git = ["git", "-C", os.fspath(folder)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True
        )
        dirty = subprocess.run(
            [*git, "status", "--porcelain", "-uno"], capture_output=True, text=True
        )
    except OSError:
        return ""
    return (
        head.stdout.strip() + ("+" if dirty.stdout.strip() else "") if head.returncode == 0 else ""
    )


def describe(about: dict[str, Any]) -> str:
    """Describes the machine in one line."""
    cores = f"{about['cores']} core{'s' if about['cores'] != 1 else ''}"
    parts = [about["cpu"], cores, f"{about['memory_gb']} GB", about["system"]]
    if "gpu" in about:
        parts.insert(0, about["gpu"])
    return ", ".join(str(part) for part in parts)


def note(about: dict[str, Any]) -> str:
    """Returns a warning if other processes kept the CPUs busy, or "" if they did not."""
    if about["busy"] < 0.15:
        return ""
    return f"other processes used {about['busy']:.0%} of the CPUs at the start: timings are noisy"


def _busy(seconds: float = 0.25) -> float:
    """Returns the fraction of CPU time used by all processes during the next `seconds`."""

    def ticks() -> tuple[int, int]:
        with open("/proc/stat", encoding="ascii") as file:
            numbers = [int(field) for field in file.readline().split()[1:9]]
        return sum(numbers), numbers[3] + numbers[4]  # total; idle and iowait

    all_before, idle_before = ticks()
    time.sleep(seconds)
    all_after, idle_after = ticks()
    return 1 - (idle_after - idle_before) / max(1, all_after - all_before)


def _first(path: str, key: str) -> str:
    """Returns the first value of `key` in a file of "key: value" or "key=value" lines, or ""."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(key):
                    return line.replace("=", ":", 1).partition(":")[2].strip()
    except OSError:
        pass
    return ""
