"""Evaluation, gradient accumulation, and time measurements."""
