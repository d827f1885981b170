"""Checks whether a trick still computes the user's step: bitwise, within fp32 noise, or by loss curve."""
