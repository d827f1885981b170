"""Writes the file of `tundish doctor --timeline`: profiler, loop, loaders and workers on one clock."""
