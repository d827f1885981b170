"""Benchmarks: one folder per question, one file per contestant. Run: `python -m bench.load.run`."""
