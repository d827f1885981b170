"""Detects changes to data sets, samplers and files after accelerate() looked at them."""
