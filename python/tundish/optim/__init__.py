"""What makes the optimiser's part of a training step cheaper; needs torch."""

from .flat import FlatParameters, flatten

__all__ = ["FlatParameters", "flatten"]
