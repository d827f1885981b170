"""Prints the versions of torch and of NVIDIA's packages as one line of JSON, without importing them.

Importing torch takes seconds, and may fail if torch does not match the driver. The C++ program runs
this file as a script (src/cli/env/ask_torch.cpp).
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import re
from importlib import metadata
from typing import Any

_REQUIREMENT = re.compile(r"(nvidia-[\w-]+)[^;=]*\(?==\s*([\w.+-]+)")


def torch_versions() -> dict[str, Any]:
    """Returns {python, torch, cuda, hip, cudnn, wrong}. The version of a missing package is ""."""
    out: dict[str, Any] = {"python": platform.python_version()}
    out.update({"torch": "", "cuda": "", "hip": "", "cudnn": "", "wrong": []})
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        return out
    out.update(built_with(os.path.join(os.path.dirname(spec.origin), "version.py")))
    try:
        requirements = metadata.requires("torch") or []
    except metadata.PackageNotFoundError:
        return out
    for package, wanted in nvidia_packages(requirements):
        installed = installed_version(package)
        if package.startswith("nvidia-cudnn"):
            out["cudnn"] = installed
        if installed != wanted:
            out["wrong"].append({"package": package, "wanted": wanted, "installed": installed})
    return out


def built_with(path: str) -> dict[str, str]:
    """Reads the versions of torch, CUDA and HIP from torch/version.py."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(65_536)
    except OSError:
        return {"torch": "?"}
    out = {}
    for key, name in (("torch", "__version__"), ("cuda", "cuda"), ("hip", "hip")):
        found = re.search(rf"^{name}\b[^=\n]*=\s*['\"]([\w.+-]+)['\"]", text, re.MULTILINE)
        out[key] = found[1] if found else ""
    return out


def nvidia_packages(requirements: list[str]) -> list[tuple[str, str]]:
    """Returns (name, pinned version) of each NVIDIA package that torch requires on Linux."""
    out = []
    for requirement in requirements:
        found = _REQUIREMENT.match(requirement)
        marker = requirement.partition(";")[2]
        elsewhere = re.search(r"platform_system\s*==\s*['\"](?!Linux)", marker)
        if found and not elsewhere and "extra" not in marker:
            out.append((found[1], found[2]))
    return out


def installed_version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    print(json.dumps(torch_versions()))
