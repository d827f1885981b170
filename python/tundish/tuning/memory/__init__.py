"""Memory of a training step: prediction, live tensors, recomputation."""
