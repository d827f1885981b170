"""Loads docs/read_tnd.py, the pure Python reader of packs, as a module."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from .rows import ROOT


def read_tnd() -> ModuleType:
    spec = importlib.util.spec_from_file_location("read_tnd", ROOT / "docs" / "read_tnd.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
