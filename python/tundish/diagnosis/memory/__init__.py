"""Shows which lines hold how much memory at the peak of a step (`tundish doctor --memory-lines`).

`recorder.py` is a recorder of the doctor's watch. On a CPU it counts with tuning/live_memory.py; on
a GPU it reads the history of torch's allocator. `explain.py` turns both into the same table.
"""
