"""Chooses what to try, in the order that pays, and combines what paid."""
