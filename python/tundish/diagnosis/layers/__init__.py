"""Presents the measured layers of a model: roof, text, chart, table, and `tundish.layers`."""
