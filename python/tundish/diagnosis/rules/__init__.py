"""The rules of `tundish check` and `tundish doctor`, one file each."""
