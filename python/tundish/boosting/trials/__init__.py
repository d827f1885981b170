"""Trials: each runs the user's command in a process of its own, with some changes, and measures it."""
