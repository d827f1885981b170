"""Writes the kept changes of a boost as a diff of the user's files."""

from .by_hand import ByHand
from .write import Patch, write_patch

__all__ = ["ByHand", "Patch", "write_patch"]
