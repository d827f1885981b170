"""Packs of a dataset's files: finds and verifies them, or makes them in the background."""
