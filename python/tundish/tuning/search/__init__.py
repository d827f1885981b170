"""Searches for the fastest set of tricks, checks its numerics, and confirms its speed."""
