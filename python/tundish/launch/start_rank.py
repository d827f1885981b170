"""The first lines of a rank's process: python -I -S start_rank.py PARENT CPUS PROGRAM [WORD...]

Asks the kernel to end this process when the launcher is gone, takes its CPUs, and becomes the
program. It runs before the script, in a process of its own: code between fork and exec of the
launcher, which has threads, could wait for a lock forever. It imports nothing of the package.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, cpus: str, program: list[str]) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        sys.exit(1)
    if cpus:
        try:
            os.sched_setaffinity(0, [int(cpu) for cpu in cpus.split(",")])
        except OSError as error:  # a CPU went away, or a container forbids it: slower, not wrong
            print(f"tundish: cannot bind to the CPUs {cpus}: {error.strerror}", file=sys.stderr)
            sys.stderr.flush()
    os.execv(program[0], program)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
