"""Calls that torch, Apex or Lightning have left behind."""
