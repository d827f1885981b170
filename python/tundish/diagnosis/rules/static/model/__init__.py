"""Layers, and the settings that a model runs with."""
