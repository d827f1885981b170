"""Calls that torch, Apex or Lightning have deprecated or removed."""
