"""Presents the verdict as terminal text, as an HTML page and as JSON."""
