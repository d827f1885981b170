"""Copies batches of torch's DataLoader to a GPU ahead of the training loop.

A thread takes batches, page-locks pageable tensors and enqueues the copies on a separate CUDA stream. An event
makes the loop's stream wait for the copies; the host does not wait. All memory comes from torch, so that torch's
allocators know which streams still use it.
"""

from __future__ import annotations

import contextlib
import copy
import queue
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from .forked_workers import freeze_garbage_in_children

_AHEAD = 2  # number of batches on the device besides the loop's batch
_ENDED = "close() or a newer iteration over this loader has ended this iteration"
_SLICE_S = 0.1  # how long a thread waits before it checks whether to end


def change_tensors(batch: Any, change: Callable[[Any], Any]) -> Any:
    """Applies `change` to every tensor, and to every object with a method `to`, in a collated batch."""
    if hasattr(batch, "to") and callable(batch.to):
        return change(batch)
    if isinstance(batch, Mapping):
        return _same_kind(batch, {k: change_tensors(v, change) for k, v in batch.items()})
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[change_tensors(item, change) for item in batch])
    if isinstance(batch, list | tuple):
        return _same_kind(batch, [change_tensors(item, change) for item in batch])
    return batch


def _same_kind(batch: Any, items: Any) -> Any:
    """Returns the items in a container of the batch's class, or in a plain container if that fails."""
    if type(batch) in (dict, list, tuple):
        return type(batch)(items)
    try:
        if isinstance(batch, tuple):
            return type(batch)(items)
        made: Any = copy.copy(batch)  # keeps attributes, such as default_factory of a defaultdict
        for key, item in items.items() if isinstance(items, dict) else enumerate(items):
            made[key] = item
        return made
    except Exception:  # such as an immutable mapping; torch's own pin_memory does the same
        return tuple(items) if isinstance(batch, tuple) else items


class GpuCopier:
    """Copies batches to a GPU. Any thread may call send(); only the loop's thread calls receive()."""

    def __init__(self, device: Any) -> None:
        import torch

        freeze_garbage_in_children()
        self._device = device
        self._stream = torch.cuda.Stream(device)

    def send(self, batch: Any) -> Any:
        import torch

        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            moved = change_tensors(batch, self._send_tensor)
            ready = torch.cuda.Event()
            ready.record(self._stream)
        return moved, ready

    def _send_tensor(self, tensor: Any) -> Any:
        import torch

        if not isinstance(tensor, torch.Tensor):
            return tensor  # receive() moves objects other than tensors, on the loop's stream
        if tensor.device.type == "cpu" and not tensor.is_pinned():
            tensor = tensor.pin_memory()
        return tensor.to(self._device, non_blocking=True)

    def receive(self, sent: Any) -> Any:
        import torch

        moved, ready = sent
        stream = torch.cuda.current_stream(self._device)
        stream.wait_event(ready)

        def receive_tensor(tensor: Any) -> Any:
            if not isinstance(tensor, torch.Tensor):
                return tensor.to(self._device)
            tensor.record_stream(stream)
            return tensor

        return change_tensors(moved, receive_tensor)


class SynchronousCopies:
    """Copies each batch when the loop requests it, in the loop's thread."""

    ending = None  # no thread to end

    def __init__(self, batches: Iterator[Any], copies: GpuCopier) -> None:
        self._batches, self._copies = batches, copies

    def __next__(self) -> Any:
        return self._copies.receive(self._copies.send(next(self._batches)))


class PrefetchedCopies:
    """Copies batches in a thread, in order, a few batches ahead of the loop.

    The thread stops at the end of the epoch, after an error, or when this object is garbage-collected.
    """

    def __init__(self, batches: Iterator[Any], copies: GpuCopier) -> None:
        self._copies = copies
        self._ready: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(_AHEAD)
        stop = threading.Event()
        thread = threading.Thread(
            target=_send_all,
            args=(batches, copies, self._ready, stop),
            name="tundish-copies",
            daemon=True,
        )
        thread.start()
        weakref.finalize(self, stop.set)
        # Waits until the thread no longer uses torch's iterator. May be called after this object is gone.
        self.ending: Callable[[], None] | None = partial(
            _end, stop, thread, weakref.ref(self._ready)
        )
        self._over = False

    def __next__(self) -> Any:
        if self._over:
            raise StopIteration
        sent, error = self._ready.get()
        if error is None:
            return self._copies.receive(sent)
        self._over = True
        assert self.ending is not None
        self.ending()
        try:
            raise error
        finally:
            del error  # breaks a reference cycle through this frame, which keeps batches alive


def _end(stop: threading.Event, thread: threading.Thread, waiting: weakref.ref[Any]) -> None:
    """Stops the thread. A loop that still requests batches gets an error.

    waiting  weak reference to the queue, because its batches must not outlive their iteration
    """
    stop.set()
    thread.join()
    ready = waiting()
    if ready is None:
        return
    with contextlib.suppress(queue.Empty):
        while True:
            ready.get_nowait()
    with contextlib.suppress(queue.Full):
        ready.put_nowait((None, RuntimeError(_ENDED)))


def _send_all(
    batches: Iterator[Any], copies: GpuCopier, ready: queue.Queue[Any], stop: threading.Event
) -> None:
    error: BaseException | None = None
    while error is None and not stop.is_set():
        item: tuple[Any, BaseException | None] = (None, None)
        try:
            item = (copies.send(next(batches)), None)
        except BaseException as raised:  # including StopIteration: the loop receives it in order
            error = raised
            item = (None, raised)
        while not stop.is_set():
            try:
                ready.put(item, timeout=_SLICE_S)
                break
            except queue.Full:
                continue
        del item
    del error, batches  # see PrefetchedCopies.__next__
