"""Layers, and settings of a model."""
