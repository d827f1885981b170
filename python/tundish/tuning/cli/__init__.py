"""The commands `tundish tune`, `tundish tune remeasure` and `tundish tune batch-size`."""
