"""Binds PyTorch's parameters, gradients and states to the engine's optimizers."""
