"""Worker threads of this process in the place of a DataLoader's worker processes.

Batches, their order and their assignment to workers are torch's: batch i of an epoch is made by worker i % num_workers, and
the sampler is asked by the loop, at the moments when torch asks it. Nothing is pickled or copied between processes.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from .shared_random import drawn_since, random_states
from .worker_info import WorkerSeed, answer_in_this_thread, answer_per_thread

_EXIT_WAIT_S = 5.0  # for a thread that makes a sample when Python ends
_STOP = object()  # in place of an index, and of a batch that nobody makes any more


@dataclass
class _Worker:
    """One thread. `tasks`: indices of batches; `made`: batches or errors, in the order of the tasks."""

    number: int
    tasks: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    made: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    thread: threading.Thread | None = None
    began: threading.Event = field(default_factory=threading.Event)  # its first batch was made


@dataclass
class _Job:
    """What the threads of an iterator share. They must not refer to the iterator: they end when it is gone."""

    dataset: Any
    collate_fn: Callable[[Any], Any]
    batched: bool  # an index is a list of indices
    pin_to: int | None  # the GPU whose context page-locks batches
    process: int = field(default_factory=os.getpid)
    stopped: bool = False


class ThreadWorkers:
    """Iterates a DataLoader as its own __iter__ does. `on_draw` hears of random numbers that threads share."""

    def __init__(self, theirs: Any, on_draw: Callable[[list[str]], None]) -> None:
        answer_per_thread()
        self._theirs, self._on_draw = theirs, on_draw
        self._persistent: ThreadIterator | None = None
        self._running: weakref.WeakSet[ThreadIterator] = weakref.WeakSet()
        # Of iterators that are gone, too.
        self._threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()

    def __iter__(self) -> ThreadIterator:
        again = self._persistent
        if again is not None and not again.closed and again.process == os.getpid():
            again.begin_epoch()
            return again
        iterator = ThreadIterator(self._theirs, self._on_draw)
        self._on_draw = _ignore  # the first epoch is enough
        self._running.add(iterator)
        self._threads.update(iterator.threads())
        if self._theirs.persistent_workers:
            self._persistent = iterator
        return iterator

    def close(self) -> None:
        """Waits for the threads of all iterators, also of those that a loop left: each finishes the sample that it makes."""
        for iterator in list(self._running):
            iterator.stop()
        _join(self._threads)
        self._persistent = None


class ThreadIterator:
    """One epoch; with persistent_workers one after the other. Threads end with it."""

    def __init__(self, theirs: Any, on_draw: Callable[[list[str]], None]) -> None:
        import torch

        self._theirs, self._on_draw = theirs, on_draw
        self._sampler = theirs.sampler if theirs.batch_sampler is None else theirs.batch_sampler
        iter(self._sampler)  # torch asks twice, before and after the seed; samplers may draw then
        seed = int(torch.empty((), dtype=torch.int64).random_(generator=theirs.generator).item())
        pins = bool(theirs.pin_memory) and torch.cuda.is_available()
        job = _Job(
            theirs.dataset,
            theirs.collate_fn,
            theirs.batch_sampler is not None,
            torch.cuda.current_device() if pins else None,
        )
        self._workers = [_Worker(number) for number in range(theirs.num_workers)]
        self.closed = False
        self.process = job.process  # the only one that has the threads
        self._stop = weakref.finalize(self, _stop, job, self._workers)
        self._stop.atexit = False  # _end_at_exit() does it
        self._send_first()
        try:
            self._start(job, seed)
        except BaseException:
            self._stop()
            raise
        _open.add(self)

    def _start(self, job: _Job, seed: int) -> None:
        """The loop waits here for the first batch where draws are looked for: what the loop draws is its own affair."""
        looks = self._on_draw is not _ignore and self._sent > 0
        states = random_states() if looks else {}
        _start(self._workers, job, seed)
        if looks and self._workers[0].began.wait(self._theirs.timeout or None):
            drawn = drawn_since(states)
            if drawn:
                self._on_draw(drawn)

    def begin_epoch(self) -> None:
        """What is left of the last epoch is made and dropped, as torch's processes do."""
        while self._received < self._sent:
            self._workers[self._received % len(self._workers)].made.get()
            self._received += 1
        self._send_first()

    def _send_first(self) -> None:
        self._indices = iter(self._sampler)
        self._sent = self._received = 0
        for _ in range(self._theirs.prefetch_factor * len(self._workers)):
            self._send()

    def _send(self) -> None:
        try:
            index = next(self._indices)
        except StopIteration:
            return
        self._workers[self._sent % len(self._workers)].tasks.put(index)
        self._sent += 1

    def __iter__(self) -> ThreadIterator:
        return self

    def __next__(self) -> Any:
        from torch._utils import ExceptionWrapper

        if self.process != os.getpid():
            raise RuntimeError(
                "this iterator was made before a fork, and its worker threads are in the parent process\n"
                "  fix: iterate the loader anew in this process"
            )
        if self._received == self._sent:
            if not self._theirs.persistent_workers:
                self.close()
            raise StopIteration
        batch = self._receive()
        self._received += 1
        self._send()
        if not isinstance(batch, ExceptionWrapper):
            return batch
        try:
            batch.reraise()
        except Exception as error:  # without torch's frame, which would keep this iterator alive
            raise error.with_traceback(None) from None

    def _receive(self) -> Any:
        worker = self._workers[self._received % len(self._workers)]
        try:
            batch = _STOP if self.closed else worker.made.get(timeout=self._theirs.timeout or None)
        except queue.Empty:
            text = f"DataLoader timed out after {self._theirs.timeout} seconds"
            raise RuntimeError(text) from None
        if batch is _STOP:
            raise RuntimeError("the loader was closed in the middle of this epoch")
        return batch

    def stop(self) -> None:
        """Waits for nothing; a thread ends after the sample that it makes."""
        self.closed = True
        self._stop()

    def close(self) -> None:
        """Waits until the threads have ended, unless one of them calls this."""
        self.stop()
        _join(self.threads())

    def threads(self) -> list[threading.Thread]:
        return [worker.thread for worker in self._workers if worker.thread is not None]


def _ignore(_: list[str]) -> None:
    """Random numbers were reported already."""


# --- the threads -------------------------------------------------------------------------------

_starting = threading.Lock()
_open: weakref.WeakSet[ThreadIterator] = weakref.WeakSet()
_threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


def _join(threads: Iterable[threading.Thread]) -> None:
    for thread in list(threads):
        if thread is not threading.current_thread():
            thread.join()


def _start(workers: list[_Worker], job: _Job, seed: int) -> None:
    """torch's processes compute with one thread each, so that sums have their rounding; these threads do, too.

    torch.set_num_threads() is of the calling thread and of threads that are new to torch: the number is set back at once.
    """
    import torch

    with _starting:
        threads, ready = torch.get_num_threads(), []
        try:
            for worker in workers:
                of_worker = WorkerSeed(worker.number, len(workers), seed + worker.number)
                worker.thread = threading.Thread(
                    target=_work,
                    args=(worker, job, of_worker),
                    name=f"tundish-worker-{worker.number}",
                    daemon=True,
                )
                _threads.add(worker.thread)
                worker.thread.start()
                ready.append(worker.made.get())
        finally:
            torch.set_num_threads(threads)
    for error in ready:
        if error is not None:
            error.reraise()


def _work(worker: _Worker, job: _Job, seed: WorkerSeed) -> None:
    worker.made.put(_set_up(job, seed))
    while (index := worker.tasks.get()) is not _STOP:
        if not job.stopped:
            worker.made.put(_make(index, worker.number, job))
        worker.began.set()
        del index
    worker.began.set()  # somebody may wait
    worker.made.put(_STOP)


def _set_up(job: _Job, seed: WorkerSeed) -> Any:
    """None, or the error for the loop."""
    import torch
    from torch._utils import ExceptionWrapper

    try:
        torch.get_num_threads()  # now this thread is not new to torch
        torch.set_num_threads(1)
        if job.pin_to is not None:
            torch.cuda.set_device(job.pin_to)
        answer_in_this_thread(seed, job.dataset)
        return None
    except Exception:
        return ExceptionWrapper(where=f"in DataLoader worker thread {seed.number}")


def _make(index: Any, number: int, job: _Job) -> Any:
    """A batch; or an error, for the loop; or _STOP."""
    from torch._utils import ExceptionWrapper

    where = f"in DataLoader worker thread {number}"
    try:
        batch = job.collate_fn(_samples(index, job))
        return batch if job.pin_to is None else _pinned(batch)
    except _Stopped:
        return _STOP
    except Exception:
        return ExceptionWrapper(where=where)
    except BaseException as ended:
        error = RuntimeError(f"DataLoader worker thread {number} was ended by {ended!r}")
        return ExceptionWrapper((RuntimeError, error, ended.__traceback__), where)


class _Stopped(Exception):
    """Nobody waits for this batch any more."""


def _samples(index: Any, job: _Job) -> Any:
    if not job.batched:
        return job.dataset[index]
    if getattr(job.dataset, "__getitems__", None):
        return job.dataset.__getitems__(index)
    samples = []
    for one in index:
        if job.stopped:
            raise _Stopped
        samples.append(job.dataset[one])
    return samples


def _pinned(batch: Any) -> Any:
    from torch.utils.data._utils.pin_memory import pin_memory

    return pin_memory(batch)


def _stop(job: _Job, workers: list[_Worker]) -> None:
    """Waits for nothing: a garbage collector may call it, with any lock held. A forked process has none of the threads."""
    job.stopped = True
    if job.process != os.getpid():
        return
    for worker in workers:
        worker.tasks.put(_STOP)


@atexit.register
def _end_at_exit() -> None:
    """A thread that still computes while Python takes itself apart could end the process with a fault."""
    for iterator in list(_open):
        iterator.stop()
    end = monotonic() + _EXIT_WAIT_S
    for thread in list(_threads):
        if thread.is_alive():
            thread.join(max(0.0, end - monotonic()))
