"""Checks of a model's layers, one file each. To add a check, add a file."""
