"""What a figure must carry: the machine, the versions, the state of the code."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from importlib import metadata
from typing import Any


def machine() -> dict[str, Any]:
    """CPU model, usable cores, memory; the GPU when torch is loaded and sees one.

    "busy" is the share of the CPUs that others use just now.
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
    """Versions of what is installed, without importing it."""
    from .._c.library import version

    out = {"tundish": version(), "python": platform.python_version()}
    for name in ("numpy", "torch", "pillow", *more):
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return out


def commit(folder: str | os.PathLike[str]) -> str:
    """The commit of a checkout, with + when files differ from it; empty outside of one."""
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
    """One line for people."""
    cores = f"{about['cores']} core{'s' if about['cores'] != 1 else ''}"
    parts = [about["cpu"], cores, f"{about['memory_gb']} GB", about["system"]]
    if "gpu" in about:
        parts.insert(0, about["gpu"])
    return ", ".join(str(part) for part in parts)


def note(about: dict[str, Any]) -> str:
    """A sentence when others had the machine, else nothing."""
    if about["busy"] < 0.15:
        return ""
    return f"others used {about['busy']:.0%} of the CPUs at the start: figures are unsteady"


def _busy(seconds: float = 0.25) -> float:
    """Sleeps, and sees how much of the CPUs was used meanwhile."""

    def ticks() -> tuple[int, int]:
        with open("/proc/stat", encoding="ascii") as file:
            numbers = [int(word) for word in file.readline().split()[1:9]]
        return sum(numbers), numbers[3] + numbers[4]  # all; idle and waiting for disks

    all_before, idle_before = ticks()
    time.sleep(seconds)
    all_after, idle_after = ticks()
    return 1 - (idle_after - idle_before) / max(1, all_after - all_before)


def _first(path: str, key: str) -> str:
    """The value after the first `key` of a file of "key: value" or "key=value" lines."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(key):
                    return line.replace("=", ":", 1).partition(":")[2].strip()
    except OSError:
        pass
    return ""
