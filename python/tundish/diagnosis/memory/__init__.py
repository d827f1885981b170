"""The memory of a training step, while a script runs: which lines hold how much at the peak (`tundish doctor --memory`).

`record.py` is a recorder of the doctor's watch. On a CPU it counts with tuning/live_memory.py, on a GPU it reads the history of
torch's allocator; `explain.py` makes the same table of both.
"""
