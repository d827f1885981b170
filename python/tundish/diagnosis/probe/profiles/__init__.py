"""Profilers that run in a few steps: lines, functions, GPU kernels and a timeline."""
