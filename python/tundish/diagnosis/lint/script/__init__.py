"""A training script as the checks see it: syntax tree, full names, values, training loops.

Nothing is run or imported. Start reading at `script.py`.
"""

from .script import Script

__all__ = ["Script"]
