"""A process that serves samples of a pickled dataset.

It ends when the program closes the connection, and immediately if its parent process ends.
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

# True in a worker, whose script was imported again and must not pack.
is_worker = False


def main() -> None:
    """Entry point. argv: socket, lifeline, pickle (descriptors), path of a script to import or ""."""
    global is_worker
    is_worker = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection, lifeline, pickled = (int(argument) for argument in sys.argv[1:4])
    threading.Thread(target=_end_with_starter, args=[lifeline], daemon=True).start()
    description = None
    try:
        if sys.argv[4]:
            # multiprocessing's way to define the script's classes in another process
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
    # Not read(): all workers share the descriptor's position.
    with mmap.mmap(pickled, 0, access=mmap.ACCESS_READ) as data:
        return pickle.loads(data)


def _end_with_starter(lifeline: int) -> None:
    while os.read(lifeline, 1):
        pass
    os._exit(1)
