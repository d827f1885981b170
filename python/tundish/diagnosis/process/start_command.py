"""The first lines of the user's command: python -I -S start_command.py PARENT PIPE HOLD COMMAND [WORD...]

Asks the kernel to end this process when the doctor is gone, and becomes the command. Where it cannot,
the pipe gets the error's number; otherwise the pipe closes empty. Ctrl-C is held back on entry, and for
the command only if HOLD is 1. It imports nothing of the package.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, pipe: int, hold: bool, command: list[str]) -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends it without a traceback
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    if not hold:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.set_inheritable(pipe, False)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        sys.exit(1)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(pipe, str(error.errno).encode())
        sys.exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "1", sys.argv[4:])
