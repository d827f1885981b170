"""Batches on their way to a GPU, on a separate stream, ahead of the loop.

Each batch is enqueued before the loop requests it: one copy from page-locked memory, then the kernels, into
tensors of torch's allocator. The loop's stream waits for a batch by an event. The host does not wait for the
GPU, unless it is far ahead or an epoch ends.
"""

from __future__ import annotations

import ctypes
import logging
from dataclasses import dataclass
from typing import Any

from ..._c.batch_tensors import tensor_infos
from ..._c.errors import SampleError, last_error
from ..._c.functions import ERROR, OK
from ..._c.handles import BatchHandle, DeviceHandle, LoaderHandle, ResidentHandle
from ..._c.library import lib
from ..._c.structs import DTYPES, BatchInfo, RefusedSample, TensorInfo
from ..._c.tensor import Tensor
from ..gpu.lag import GpuLag
from .batch_form import BatchForm
from .pending_batch import PendingBatch

log = logging.getLogger("tundish")


@dataclass(frozen=True)
class EnqueuedBatch:
    """An enqueued batch."""

    out: Any  # the assembled batch
    tensors: list[Any]
    info: BatchInfo
    ready: Any  # an event on the loader's stream


class PendingGpuBatches(PendingBatch):
    """A few batches on their way to a GPU, in order.

    Assignments on one line without a call are never half done when Ctrl-C comes.
    """

    def __init__(
        self,
        form: BatchForm,
        loader: LoaderHandle,
        device: Any,
        resident: ResidentHandle | None,
    ) -> None:
        """Call it before the loader starts."""
        import torch

        super().__init__(form)
        self._loader = loader
        self._device = device
        self._stream = torch.cuda.Stream(device, priority=-1)
        stream = self._stream.cuda_stream
        with torch.cuda.device(device):
            handle = lib.tundish_device_new(loader, device.index, stream, resident)
        if not handle:
            raise last_error()
        self._uploader: DeviceHandle = handle
        self._prefetch_depth = lib.tundish_device_prefetch_depth()  # besides the delivered one
        self._waiting: tuple[EnqueuedBatch, ...] = ()
        self._lag = GpuLag()  # of the delivered batches
        self._decoded = 0  # delivered images decoded by the GPU
        self._ready: Any = None  # event of the newest batch
        self.delivered: tuple[EnqueuedBatch, Any] | None = (
            None  # the batch of `out`, and the stream that waits for it
        )
        self._refused = RefusedSample()  # an image that could not be decoded; usually none
        self.error: Exception | None = None  # error of the batch after the waiting ones

    def is_ready(self) -> bool:
        return self.out is not None or bool(self._waiting) or bool(self.batch)

    def take_error(self) -> Exception | None:
        error, self.error = self.error, None
        return error

    def assemble(self) -> None:
        """Delivers the oldest batch, unless another thread has taken it. Every step can be interrupted and repeated."""
        import torch

        if self.out is not None:
            self._move_to_stream(torch.cuda.current_stream(self._device))
            return
        with torch.cuda.device(self._device):
            self._poll_completed()
            if self.batch:
                self._enqueue()
            self._enqueue_more()
        if self._waiting:
            self._deliver_oldest()
            return
        error = self.take_error()
        if error is not None:  # the only batch failed
            raise error

    def finish_epoch(self) -> bool:
        """Reports images of the last batches that could not be decoded. Returns whether there were any."""
        if self._ready is None:
            return False
        if not self._ready.query():  # event of the loader's stream, which is ahead of the loop's
            self._ready.synchronize()
        return self._poll_completed()

    def drop(self) -> None:
        """Drops batches of an iteration that is over."""
        lib.tundish_device_abandon_iteration(self._uploader)
        self._refused.wanted = 0
        if isinstance(self.error, SampleError):  # other errors belong to the run
            self.error = None
        self._waiting, self.out, self.delivered = (), None, None
        self.batch.free()

    def stats(self, reset: bool) -> dict[str, float]:
        return {**self._lag.stats(reset), "data/gpu_decoded": self._decoded}

    def _poll_completed(self) -> bool:
        """Reports images that the GPU could not decode as bad samples. Returns whether there were any."""
        refused, found = ctypes.byref(self._refused), False
        while True:
            if lib.tundish_device_poll_completed(self._uploader, refused) != OK:
                raise last_error()
            if not self._refused.pending:
                return found
            found = True
            # After Ctrl-C in between, the image stays in self._refused until it is reported.
            if lib.tundish_loader_report_undecodable(self._loader, refused) != OK:
                raise last_error()

    @property
    def decoding(self) -> str | None:
        return {-1: None, 0: "cpu", 1: "gpu"}[lib.tundish_device_decoding(self._uploader)]

    def _enqueue_more(self) -> None:
        """Enqueues batches that are ready, without waiting."""
        while len(self._waiting) <= self._prefetch_depth and self.error is None:
            result = lib.tundish_loader_next(self._loader, 0, ctypes.byref(self.batch))
            if result == ERROR:
                self.error = last_error()
            if result != OK:
                return
            self._enqueue()

    def _enqueue(self) -> None:
        try:
            sent = self._enqueue_batch()
        except Exception as error:
            self.batch, self.error = BatchHandle(), error  # raised in order
            return
        empty = BatchHandle()
        self._waiting, self.batch = (*self._waiting, sent), empty

    def _enqueue_batch(self) -> EnqueuedBatch:
        import torch

        info = BatchInfo()
        lib.tundish_batch_get_info(self.batch, ctypes.byref(info))
        self._lag.limit_lead()
        # On the stream, so that the allocator knows the first writer; outside inference mode.
        infos = tensor_infos(self.batch, info)
        with torch.inference_mode(False), torch.cuda.stream(self._stream):
            tensors = [self._new_tensor(number, one_info) for number, one_info in enumerate(infos)]
        pointers = (ctypes.c_void_p * len(tensors))(*[tensor.data_ptr() for tensor in tensors])
        if lib.tundish_device_enqueue(self._uploader, self.batch, pointers) != OK:
            raise last_error()
        ready = self._ready = torch.cuda.Event()
        ready.record(self._stream)
        out = self._assembled(infos, tensors.__getitem__)
        return EnqueuedBatch(out, tensors, info, ready)

    def _new_tensor(self, number: int, info: TensorInfo) -> Any:
        """Returns a GPU tensor for the engine to fill. The few numbers of "sizes" are copied here."""
        import torch

        dtype = getattr(torch, DTYPES[info.dtype])
        tensor = torch.empty_strided(info.sizes, info.steps, dtype=dtype, device=self._device)
        if info.name == b"sizes":
            tensor.copy_(torch.from_dlpack(Tensor(lib.tundish_batch_tensor(self.batch, number))))
        return tensor

    def _deliver_oldest(self) -> None:
        """Delivers the oldest batch: the loop's stream waits for it, and the allocator records the use."""
        import torch

        sent = self._waiting[0]
        stream = torch.cuda.current_stream(self._device)
        self._lag.wait_for_batch(stream, sent.ready)
        for tensor in sent.tensors:
            tensor.record_stream(stream)
        gpu_decodes = sent.info.gpu_decodes
        chosen = lib.tundish_device_delivered(self._uploader, gpu_decodes, stream.cuda_stream)
        if chosen is not None:
            log.info(chosen.decode())
        waiting, decoded = self._waiting[1:], self._decoded + sent.info.gpu_decoded
        delivered = (sent, stream)
        self._waiting, self.info, self.out, self._decoded = waiting, sent.info, sent.out, decoded
        self.delivered = delivered

    def _move_to_stream(self, stream: Any) -> None:
        """Moves a delivered but untaken batch to the stream of the thread that takes it."""
        delivered = self.delivered
        if delivered is None or delivered[1] == stream:
            return
        sent = delivered[0]
        stream.wait_event(sent.ready)
        for tensor in sent.tensors:
            tensor.record_stream(stream)
        self.delivered = (sent, stream)
