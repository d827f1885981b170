"""Batches on their way to a GPU, on a stream of their own, ahead of the loop.

Each batch is enqueued before the loop asks for it: one copy from page-locked memory, then the
kernels, into tensors of torch's allocator. The loop's stream waits for them by an event; the host
does not wait for the GPU, unless it is far ahead of it or an epoch ends.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..._c.batch_tensors import tensor_infos
from ..._c.errors import SampleError, last_error
from ..._c.functions import ERROR, OK
from ..._c.handles import BatchHandle, DeviceHandle, LoaderHandle, ResidentHandle
from ..._c.library import lib
from ..._c.structs import DTYPES, BatchInfo, Refused, TensorInfo
from ..._c.tensor import Tensor
from .lag import GpuLag

log = logging.getLogger("tundish")

Make = Callable[[BatchHandle, list[TensorInfo], "list[Any] | None"], Any]


@dataclass(frozen=True)
class Sent:
    """A batch that was enqueued."""

    out: Any  # what the loop gets
    tensors: list[Any]
    info: BatchInfo
    ready: Any  # an event of the loader's stream


class PendingGpuBatches:
    """As PendingBatch, for batches on their way to a GPU: a few of them, in order.

    What is assigned in one line without a call is never half done when Ctrl-C comes.
    """

    def __init__(
        self,
        loader: LoaderHandle,
        device: Any,
        resident: ResidentHandle | None,
    ) -> None:
        import torch

        self._loader = loader
        self._device = device
        self._stream = torch.cuda.Stream(device, priority=-1)
        stream = self._stream.cuda_stream
        with torch.cuda.device(device):
            handle = lib.tundish_device_new(loader, device.index, stream, resident)
        if not handle:
            raise last_error()
        self._uploader: DeviceHandle = handle
        self._lead = lib.tundish_device_lead()  # batches enqueued besides the one handed out
        self._waiting: tuple[Sent, ...] = ()
        self._lag = GpuLag()  # of the batches handed out
        self._decoded = 0  # of their images, by the GPU
        self._ready: Any = None  # event of the newest batch
        self.batch = BatchHandle()  # empty, or what the engine gave
        self.info = BatchInfo()  # of `out`
        self.out: Any = None  # what the loop gets
        self.given: tuple[Sent, Any] | None = None  # the same, and the stream that waits for it
        self._refused = Refused()  # an image that could not be decoded; none most of the time
        self.error: Exception | None = None  # of the batch after those that wait

    def here(self) -> bool:
        return self.out is not None or bool(self._waiting) or bool(self.batch)

    def take_error(self) -> Exception | None:
        error, self.error = self.error, None
        return error

    def assemble(self, make: Make) -> None:
        """Every step may be interrupted, and is then done again. Without a batch: another thread has just taken it."""
        import torch

        if self.out is not None:
            self._follow(torch.cuda.current_stream(self._device))
            return
        with torch.cuda.device(self._device):
            self._poll_completed()
            if self.batch:
                self._enqueue(make)
            self._enqueue_more(make)
        if self._waiting:
            self._hand_over()
            return
        error = self.take_error()
        if error is not None:  # the only one failed
            raise error

    def end_of_epoch(self) -> bool:
        """What could not be decoded in its last batches is entered before the epoch is over. True: there
        was some."""
        if self._ready is None:
            return False
        if not self._ready.query():  # of the loader's own stream, which is ahead of the loop's
            self._ready.synchronize()
        return self._poll_completed()

    def drop(self) -> None:
        """What is on its way belongs to an iteration that is over."""
        lib.tundish_device_forget(self._uploader)
        self._refused.wanted = 0
        if isinstance(self.error, SampleError):  # another one is of the run
            self.error = None
        self._waiting, self.out, self.given = (), None, None
        self.batch.free()

    def stats(self, reset: bool) -> dict[str, float]:
        return {**self._lag.stats(reset), "data/gpu_decoded": self._decoded}

    def _poll_completed(self) -> bool:
        """Images that the GPU could not decode become bad samples. True: there was one."""
        refused, found = ctypes.byref(self._refused), False
        while True:
            if lib.tundish_device_poll_completed(self._uploader, refused) != OK:
                raise last_error()
            if not self._refused.pending:
                return found
            found = True
            # Ctrl-C may come in between: it stays in self._refused until it was entered.
            if lib.tundish_loader_enter_refused(self._loader, refused) != OK:
                raise last_error()

    @property
    def decoding(self) -> str | None:
        return {-1: None, 0: "cpu", 1: "gpu"}[lib.tundish_device_decoding(self._uploader)]

    def _enqueue_more(self, make: Make) -> None:
        """What is ready already; without waiting."""
        while len(self._waiting) <= self._lead and self.error is None:
            result = lib.tundish_loader_next(self._loader, 0, ctypes.byref(self.batch))
            if result == ERROR:
                self.error = last_error()
            if result != OK:
                return
            self._enqueue(make)

    def _enqueue(self, make: Make) -> None:
        try:
            sent = self._send(make)
        except Exception as error:
            self.batch, self.error = BatchHandle(), error  # raised when it is its turn
            return
        empty = BatchHandle()
        self._waiting, self.batch = (*self._waiting, sent), empty

    def _send(self, make: Make) -> Sent:
        import torch

        info = BatchInfo()
        lib.tundish_batch_get_info(self.batch, ctypes.byref(info))
        self._lag.keep_close()
        # On the stream, so that the allocator knows who writes first; for any kind of loop.
        infos = tensor_infos(self.batch, info)
        with torch.inference_mode(False), torch.cuda.stream(self._stream):
            tensors = [self._new_tensor(number, one) for number, one in enumerate(infos)]
        pointers = (ctypes.c_void_p * len(tensors))(*[tensor.data_ptr() for tensor in tensors])
        if lib.tundish_device_enqueue(self._uploader, self.batch, pointers) != OK:
            raise last_error()
        ready = self._ready = torch.cuda.Event()
        ready.record(self._stream)
        return Sent(make(self.batch, infos, tensors), tensors, info, ready)

    def _new_tensor(self, number: int, info: TensorInfo) -> Any:
        """On the GPU, for the engine to fill; the few numbers of "sizes" are copied here."""
        import torch

        dtype = getattr(torch, DTYPES[info.dtype])
        tensor = torch.empty_strided(info.sizes, info.steps, dtype=dtype, device=self._device)
        if info.name == b"sizes":
            tensor.copy_(torch.from_dlpack(Tensor(lib.tundish_batch_tensor(self.batch, number))))
        return tensor

    def _hand_over(self) -> None:
        """The oldest: the loop's stream waits for it, and the allocator knows that it reads it."""
        import torch

        sent = self._waiting[0]
        stream = torch.cuda.current_stream(self._device)
        self._lag.hand_over(stream, sent.ready)
        for tensor in sent.tensors:
            tensor.record_stream(stream)
        gpu_decodes = sent.info.gpu_decodes
        chosen = lib.tundish_device_handed_over(self._uploader, gpu_decodes, stream.cuda_stream)
        if chosen is not None:
            log.info(chosen.decode())
        waiting, decoded = self._waiting[1:], self._decoded + sent.info.gpu_decoded
        given = (sent, stream)
        self._waiting, self.info, self.out, self._decoded = waiting, sent.info, sent.out, decoded
        self.given = given

    def _follow(self, stream: Any) -> None:
        """A batch that was not taken yet is taken by another thread, or in another stream."""
        given = self.given
        if given is None or given[1] == stream:
            return
        sent = given[0]
        stream.wait_event(sent.ready)
        for tensor in sent.tensors:
            tensor.record_stream(stream)
        self.given = (sent, stream)
