"""`tundish run`: starts one process per GPU and reports the first rank that fails.

run_verb.py         the verb
run_options.py      the options of the verb
gpus.py             GPUs of the machine
cpus.py             CPUs of the machine, and their assignment to ranks
rank_plan.py        environment, CPUs and GPU of every rank
start_rank.py       code that runs in a rank's process before the script
processes.py        the process of one rank
output.py           output of the ranks: terminal, prefixes, log files
supervise.py        starts the ranks, waits for them and stops them
failure.py          finds the rank that failed first and describes the failure
state_keys.py       checkpoints with and without DataParallel
data_parallel.py    tundish.replace_data_parallel; the only module that needs torch
"""
