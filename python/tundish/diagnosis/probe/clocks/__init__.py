"""Clocks that measure the training loop, a thread and the GPU."""
