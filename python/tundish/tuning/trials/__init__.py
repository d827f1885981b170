"""Trials: each variant of the step runs in a process of its own."""
