"""Loads the pure Python readers in docs/ as modules."""

import importlib.util

from tests.helpers.program import ROOT


def reader(name):
    """Loads docs/NAME.py as a module. `name` is "read_tnd" or "read_lanes"."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
