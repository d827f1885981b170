"""Measures the memory of a command."""

import os

from tests.helpers.program import PROGRAM


def peak_memory(*words, exit_codes=(0,)):
    """Runs the program `tundish`. Returns its peak resident memory in bytes."""
    with open(os.devnull, "wb") as nothing:
        moves = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), descriptor) for descriptor in (1, 2)]
        argv = [str(PROGRAM), *map(str, words)]
        pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=moves)
    _, status, usage = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) in exit_codes
    return usage.ru_maxrss * 1024
