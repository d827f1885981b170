"""Delivers the engine's batches to the training loop."""
