"""Loaders, workers, and samples on their way to the GPU."""
