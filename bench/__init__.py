"""Benchmarks. Each folder answers one question, with one file per contestant.

Run a benchmark with `python -m bench.load.run`.
"""
