"""Trials: every variant of the step runs in its own process."""
