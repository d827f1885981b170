"""Turns the recorded facts of a run into a verdict: cause, figures and changes."""
