"""What the probe learns about the script's data loaders."""
