"""The commands `tundish doctor`, `tundish doctor compare` and `tundish check`."""
