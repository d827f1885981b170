"""A process that serves samples of a pickled dataset.

The process ends when the program closes the connection, and immediately if its parent process ends.
"""

from __future__ import annotations

import mmap
import multiprocessing.spawn
import os
import pickle
import signal
import socket
import sys
import threading
from typing import Any

from .serve import Answer, Answers, answers_by_number, failed, serve

# Whether this process is a worker. A worker imports the user's script again, and must not start another pack.
is_worker = False


def main() -> None:
    """Entry point. argv: descriptors of the socket, the lifeline and the pickle; path of a script to import, or ""."""
    global is_worker
    is_worker = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection, lifeline, pickled = (int(argument) for argument in sys.argv[1:4])
    threading.Thread(target=_end_with_starter, args=[lifeline], daemon=True).start()
    description = None
    try:
        if sys.argv[4]:
            # This is how multiprocessing defines the script's classes in another process.
            multiprocessing.spawn.prepare({"init_main_from_path": sys.argv[4]})
        dataset, layout, description = _load(pickled)
        answers = answers_by_number(dataset, layout)
    except BaseException:
        answers = _always(
            failed("the dataset cannot be loaded in another process; pass processes=0: ")
        )
    serve(socket.socket(fileno=connection), description, answers)
    sys.stdout.flush()
    os._exit(0)  # threads of the dataset are no longer needed


def _always(answer: Answer) -> Answers:
    return lambda _: answer


def _load(pickled: int) -> Any:
    # Do not use read(), because all workers share the descriptor's position.
    with mmap.mmap(pickled, 0, access=mmap.ACCESS_READ) as data:
        return pickle.loads(data)


def _end_with_starter(lifeline: int) -> None:
    while os.read(lifeline, 1):
        pass
    os._exit(1)
