"""`tundish run`: one process per GPU, and what to do when one of them fails.

cli.py, options.py     the verb
gpus.py, cpus.py       what the machine has, and which CPUs each rank gets
ranks.py               the plan: environment, CPUs and GPU of every rank
start_rank.py          the first lines of a rank's process, before the script
output.py              what the ranks print: terminal, prefixes, log files
supervise.py           starts the ranks, waits, ends them
failure.py             which rank failed first, and what to do about it
data_parallel.py       tundish.replace_data_parallel (needs torch, as nothing else here does)
"""
