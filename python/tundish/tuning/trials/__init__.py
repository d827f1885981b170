"""Trials: every variant of the training step runs and is timed in its own process."""
