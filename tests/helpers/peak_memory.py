"""Measures the peak memory of the program `tundish`."""

import subprocess
import sys

from tests.helpers.program import PROGRAM

# The peak of a child includes the memory that its parent used when it started the child. For pytest,
# these are up to gigabytes. The small process below uses only a few MiB.
MEASURE = """
import resource, subprocess, sys
if int(sys.argv[1]):
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), int(sys.argv[1])))
result = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(result.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(*words, exit_codes=(0,), cpu_limit_s=0):
    """Runs the program `tundish`. Returns its peak resident memory in bytes.

    cpu_limit_s  CPU seconds after which a process is killed; 0: no limit
    """
    argv = [sys.executable, "-S", "-c", MEASURE, str(cpu_limit_s), str(PROGRAM), *map(str, words)]
    result = subprocess.run(argv, capture_output=True, text=True, check=True)
    code, peak_kib = map(int, result.stdout.split())
    assert code in exit_codes
    return peak_kib * 1024
