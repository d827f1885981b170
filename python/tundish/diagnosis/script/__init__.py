"""Model of a training script for the checks: syntax tree, full names, values, training loops.

Nothing is run or imported. Start reading at `script.py`.
"""

from .script import Script

__all__ = ["Script"]
