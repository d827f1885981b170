"""What slows a training script down: found in its text, without running it."""
