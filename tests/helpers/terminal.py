"""Runs a program with a terminal as its stderr."""

import os
import pty
import subprocess


def on_terminal(words, env=None):
    """Returns the exit code of the program, and its output on the terminal."""
    terminal, end = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if "COLOR" not in name}
    environment = {**plain, "TERM": "xterm", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **(env or {})}
    process = subprocess.Popen(
        [os.fspath(word) for word in words], stdout=subprocess.PIPE, stderr=end, env=environment
    )
    os.close(end)
    drawn = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the program has closed its end
            break
        if not piece:
            break
        drawn += piece
    os.close(terminal)
    process.communicate()
    return process.returncode, drawn.decode()
