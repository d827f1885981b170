"""Detects changes to datasets, samplers and files after accelerate() examined them."""
