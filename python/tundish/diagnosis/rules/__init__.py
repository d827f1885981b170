"""The rules of `tundish check` and `tundish doctor`, one file per rule."""
