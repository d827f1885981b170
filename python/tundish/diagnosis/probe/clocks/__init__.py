"""Clocks of the training loop, of a thread and of the GPU."""
