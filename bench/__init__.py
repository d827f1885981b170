"""The benchmarks: one folder per question, one file per contestant. `python -m bench.load.run` runs one."""
