"""The file of `tundish doctor --timeline`: torch's profiler, the loop, loaders' threads and workers on one clock."""
