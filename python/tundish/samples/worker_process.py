"""A process that serves samples of a data set which it was given as a pickle.

It ends when the program closes the connection, and at once when the process that started it ends.
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

# The process is a worker: its script was imported once more, and may not pack.
is_worker = False


def main() -> None:
    """The words: socket, lifeline, pickle (descriptors), path of the script to import or nothing."""
    global is_worker
    is_worker = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection, lifeline, pickled = (int(word) for word in sys.argv[1:4])
    threading.Thread(target=_end_with_starter, args=[lifeline], daemon=True).start()
    description = None
    try:
        if sys.argv[4]:
            # multiprocessing's own way to make classes of the script known in another process
            multiprocessing.spawn.prepare({"init_main_from_path": sys.argv[4]})
        dataset, layout, description = _load(pickled)
        answers = answers_by_number(dataset, layout)
    except BaseException:
        answers = _always(
            failed("the data set cannot be loaded in another process; processes=0 needs none: ")
        )
    serve(socket.socket(fileno=connection), description, answers)
    sys.stdout.flush()
    os._exit(0)  # threads of the data set are of no further use


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
