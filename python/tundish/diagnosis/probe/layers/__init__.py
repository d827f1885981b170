"""Measures time, FLOPs and bytes of every module in a few extra steps, and the machine's limits.

No hook is registered on the user's modules. torch's global hooks are set for these steps and
removed afterwards.
"""
