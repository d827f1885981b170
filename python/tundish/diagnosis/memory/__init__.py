"""Shows how much memory each line holds at the peak of a step (`tundish doctor --memory-lines`).

`recorder.py` records the memory of some steps. On a CPU, it counts tensors with
tuning/memory/live_memory.py; on a GPU, it reads the history of torch's allocator. `explain.py`
turns either record into the same table.
"""
