"""Presents the results of a tuning run: table rows, terminal text and an HTML page."""
