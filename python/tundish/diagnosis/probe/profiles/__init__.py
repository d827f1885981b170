"""Profiles of some steps: lines, functions, kernels, and a timeline."""
