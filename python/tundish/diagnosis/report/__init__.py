"""Presents the verdict as terminal text, HTML page and JSON."""
