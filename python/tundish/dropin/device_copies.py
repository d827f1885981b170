"""Batches of torch's DataLoader, copied to a GPU ahead of the loop.

One thread takes batches, page-locks what is not, and enqueues the copies on a stream of its own. The loop's stream waits for
them by an event; the host does not wait. The memory on both sides is torch's own, so that its allocators know
who still reads it.
"""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from .forked_workers import keep_garbage_in_children

_AHEAD = 2  # batches on the device besides the loop's
_SLICE_S = 0.1  # how long a thread may wait before it looks whether it should end


def map_tensors(batch: Any, change: Callable[[Any], Any]) -> Any:
    """The same structure as default_collate makes, with every tensor, and what else has .to(), changed."""
    if hasattr(batch, "to") and callable(batch.to):
        return change(batch)
    if isinstance(batch, Mapping):
        return type(batch)({k: map_tensors(v, change) for k, v in batch.items()})  # type: ignore[call-arg]
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*[map_tensors(one, change) for one in batch])
    if isinstance(batch, list | tuple):
        return type(batch)([map_tensors(one, change) for one in batch])
    return batch


class GpuCopies:
    """How a batch gets to a GPU. send() may be called in any thread, receive() in the loop's."""

    def __init__(self, device: Any) -> None:
        import torch

        keep_garbage_in_children()
        self._device = device
        self._stream = torch.cuda.Stream(device)

    def send(self, batch: Any) -> Any:
        import torch

        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            moved = map_tensors(batch, self._send_tensor)
            ready = torch.cuda.Event()
            ready.record(self._stream)
        return moved, ready

    def _send_tensor(self, tensor: Any) -> Any:
        import torch

        if not isinstance(tensor, torch.Tensor):
            return tensor  # what holds tensors is moved by the loop, on its own stream
        if tensor.device.type == "cpu" and not tensor.is_pinned():
            tensor = tensor.pin_memory()
        return tensor.to(self._device, non_blocking=True)

    def receive(self, sent: Any) -> Any:
        import torch

        moved, ready = sent
        stream = torch.cuda.current_stream(self._device)
        stream.wait_event(ready)

        def hand_over(one: Any) -> Any:
            if not isinstance(one, torch.Tensor):
                return one.to(self._device)
            one.record_stream(stream)
            return one

        return map_tensors(moved, hand_over)


class CopiedHere:
    """Without a thread: each batch is copied when the loop asks for it."""

    ending = None  # nothing runs

    def __init__(self, batches: Iterator[Any], copies: GpuCopies) -> None:
        self._batches, self._copies = batches, copies

    def __next__(self) -> Any:
        return self._copies.receive(self._copies.send(next(self._batches)))


class CopiedAhead:
    """By a thread, a few batches ahead, in order. The thread ends with the epoch, with an error, or when nobody
    refers to this any more."""

    def __init__(self, batches: Iterator[Any], copies: GpuCopies) -> None:
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
        # Waits until the thread has left torch's iterator, also when this object is gone: it does not refer to it.
        self.ending: Callable[[], None] | None = partial(_end, stop, thread)
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
            del error  # else a cycle with this frame, which holds batches


def _end(stop: threading.Event, thread: threading.Thread) -> None:
    stop.set()
    thread.join()


def _send_all(
    batches: Iterator[Any], copies: GpuCopies, ready: queue.Queue[Any], stop: threading.Event
) -> None:
    error: BaseException | None = None
    while error is None and not stop.is_set():
        item: tuple[Any, BaseException | None] = (None, None)
        try:
            item = (copies.send(next(batches)), None)
        except BaseException as raised:  # StopIteration too: the loop gets it in its turn
            error = raised
            item = (None, raised)
        while not stop.is_set():
            try:
                ready.put(item, timeout=_SLICE_S)
                break
            except queue.Full:
                continue
        del item
    del error, batches  # see CopiedAhead.__next__
