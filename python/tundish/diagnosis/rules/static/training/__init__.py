"""Evaluation, accumulation of gradients, and measured times."""
