"""Presents the measured layers of a model as text, table and roofline chart."""
