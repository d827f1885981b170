"""Checks of a model's layers, one file each. A new check is a new file, and nothing else."""
