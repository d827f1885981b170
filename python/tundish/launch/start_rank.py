"""Starts a rank's program: python -I -S start_rank.py PARENT CPUS PROGRAM [ARGUMENT...]

Asks the kernel to kill this process when the launcher exits, binds the process to its CPUs, and executes the program.
A separate program does this, because the launcher has threads: its own code could deadlock between fork and exec.
This file imports nothing from the package.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, cpus: str, program: list[str]) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # the launcher ended before the line above
        sys.exit(1)
    if cpus:
        try:
            os.sched_setaffinity(0, [int(cpu) for cpu in cpus.split(",")])
        except (
            OSError
        ) as error:  # a CPU is offline, or a container forbids it: the run is slower, but correct
            print(f"tundish: cannot bind to the CPUs {cpus}: {error.strerror}", file=sys.stderr)
            sys.stderr.flush()
    os.execv(program[0], program)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
