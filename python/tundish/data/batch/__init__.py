"""A batch of the engine on its way to the training loop."""
