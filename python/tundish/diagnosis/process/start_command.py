"""Starts the user's command: python -I -S start_command.py PARENT PIPE HOLD COMMAND [ARGUMENT...]

Asks the kernel to kill this process when the doctor exits, then executes the command. If this fails,
writes the error number to the pipe; otherwise the pipe closes without data. Ctrl-C is blocked at the
start, and stays blocked for the command only if HOLD is 1. This file imports nothing from the
package.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, pipe: int, hold: bool, command: list[str]) -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends the process without a traceback
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    if not hold:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.set_inheritable(pipe, False)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # the parent died before the line above ran
        sys.exit(1)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(pipe, str(error.errno).encode())
        sys.exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "1", sys.argv[4:])
