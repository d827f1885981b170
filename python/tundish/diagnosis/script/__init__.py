"""Static analysis of a training script for the checks: syntax tree, names, values, training loops.

The analysis does not run or import the script. Start reading at `script.py`.
"""

from .script import Script

__all__ = ["Script"]
