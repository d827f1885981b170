"""Observes the script's data loaders."""
