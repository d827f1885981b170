"""Writes the file for `tundish doctor --timeline`: profiler, loop, loaders and workers on one time axis."""
