"""Stands in for `python` in programs that start Python themselves, and sends requests to child.py.

tests/helpers/warm_python.py installs this file as FOLDER/python and writes its first line. Unsupported
arguments are passed to the real interpreter. Killing this process also ends the program.
"""

import json
import os
import signal
import socket
import sys

OPTIONS = {"-u": 1, "-P": 1, "-W": 2}


def can_run_warm(words):
    while words and words[0] in OPTIONS:
        words = words[OPTIONS[words[0]] :]
    return bool(words) and (words[0] in ("-c", "-m") or not words[0].startswith("-"))


def main(folder, words):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(os.path.join(folder, "socket"))
    text = os.memfd_create("request")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("__PYVENV")
    }
    request = {"words": words, "env": environment, "cwd": os.getcwd(), "nested": sys.argv[0]}
    request |= {"numbers": [], "session": False}
    os.write(text, json.dumps(request).encode())
    os.lseek(text, 0, os.SEEK_SET)
    socket.send_fds(connection, [b"."], [0, 1, 2, text])
    pid = int(connection.recv(32))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: os.kill(pid, received))
    status = int(connection.recv(32))
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    if not can_run_warm(sys.argv[1:]):
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
    main(os.path.dirname(sys.argv[0]), sys.argv[1:])
