"""Time, FLOPs and bytes of every module in a few steps of their own, and what this machine can do at most.

No hook is put on the user's modules: torch's global hooks are set for these steps and removed afterwards.
"""
