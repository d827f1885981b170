"""Buffers that hold many parameters for `tundish.optim.flatten`."""
