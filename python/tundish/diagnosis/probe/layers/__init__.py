"""Measures the time, FLOPs and bytes of every module in a few extra steps, and the machine's limits.

Uses torch's global hooks, which are removed after these steps. Registers no hooks on the user's
modules.
"""
