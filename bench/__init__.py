"""Benchmarks: one folder per question, one file per contestant. Example: `python -m bench.load.run`."""
