"""What a figure must carry: the machine, the versions, the state of the code."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata
from typing import Any


def machine() -> dict[str, Any]:
    """CPU model, usable cores, memory; the GPU when torch is loaded and sees one."""
    out: dict[str, Any] = {
        "cpu": _first("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": _first("/etc/os-release", "PRETTY_NAME").strip('"') or platform.system(),
        "load_average": round(os.getloadavg()[0], 2),
    }
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        out["gpu"] = torch.cuda.get_device_name()
    return out


def versions(*more: str) -> dict[str, str]:
    """Versions of what is installed, without importing it."""
    import tundish

    out = {"tundish": tundish.__version__, "python": platform.python_version()}
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


def _first(path: str, key: str) -> str:
    """The value behind the first `key` of a file of "key: value" or "key=value" lines."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(key):
                    return line.replace("=", ":", 1).partition(":")[2].strip()
    except OSError:
        pass
    return ""
