"""Work that waits for the GPU, or is repeated, in every training step."""
