"""Work that waits for the GPU, or is done again, in every training step."""
