"""Loads the readers of docs/ as modules."""

import importlib.util

from tests.helpers.program import ROOT


def reader(name):
    """Loads docs/NAME.py: read_tnd, read_lanes."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
