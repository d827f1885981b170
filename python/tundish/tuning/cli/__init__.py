"""The verbs `tundish tune`, `tune remeasure` and `tune batch-size`."""
