"""Batches on their way to a GPU, on a separate CUDA stream, ahead of the training loop.

Before the loop requests a batch, its work is enqueued: one copy from page-locked memory, then the kernels, which
write tensors from torch's allocator. An event makes the loop's stream wait for the batch. The host waits for the
GPU only if it is far ahead or at the end of an epoch.
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
    """A batch whose copy and kernels are enqueued on the loader's stream."""

    out: Any  # the assembled batch
    tensors: list[Any]
    info: BatchInfo
    ready: Any  # event on the loader's stream after the kernels of the batch


class PendingGpuBatches(PendingBatch):
    """A few batches on their way to a GPU, in order.

    Related attributes are assigned in one statement without a call, which Ctrl-C never leaves half done.
    """

    def __init__(
        self,
        form: BatchForm,
        loader: LoaderHandle,
        device: Any,
        resident: ResidentHandle | None,
    ) -> None:
        """Must be called before the loader starts."""
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
        self._prefetch_depth = lib.tundish_device_prefetch_depth()  # besides the delivered batch
        self._waiting: tuple[EnqueuedBatch, ...] = ()
        self._lag = GpuLag()  # tracks the delivered batches
        self._decoded = 0  # number of delivered images that the GPU decoded
        self._ready: Any = None  # event of the newest batch
        self.delivered: tuple[EnqueuedBatch, Any] | None = (
            None  # the batch in `out`, and the stream that waits for it
        )
        self._refused = RefusedSample()  # an image that could not be decoded; usually none
        self.error: Exception | None = None  # raised in place of the batch after `_waiting`

    def is_ready(self) -> bool:
        return self.out is not None or bool(self._waiting) or bool(self.batch)

    def take_error(self) -> Exception | None:
        error, self.error = self.error, None
        return error

    def assemble(self) -> None:
        """Delivers the oldest batch, unless a batch is already delivered. Can be interrupted and repeated at any step."""
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
        if error is not None:  # no batch is left before the failed one
            raise error

    def finish_epoch(self) -> bool:
        """Reports undecodable images of the last batches as bad samples. Returns whether there were any."""
        if self._ready is None:
            return False
        if not self._ready.query():  # event on the loader's stream, which is ahead of the loop's
            self._ready.synchronize()
        return self._poll_completed()

    def drop(self) -> None:
        """Drops the batches of an iteration that has ended."""
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
            # If Ctrl-C interrupts here, the image stays in self._refused until it is reported.
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
            self.batch, self.error = BatchHandle(), error  # raised after the waiting batches
            return
        empty = BatchHandle()
        self._waiting, self.batch = (*self._waiting, sent), empty

    def _enqueue_batch(self) -> EnqueuedBatch:
        import torch

        info = BatchInfo()
        lib.tundish_batch_get_info(self.batch, ctypes.byref(info))
        self._lag.limit_lead()
        # Allocate on the loader's stream, so that the allocator knows the first writer, and as normal tensors.
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
        """Returns a GPU tensor for the engine to fill. The tensor "sizes" is small and is copied here."""
        import torch

        dtype = getattr(torch, DTYPES[info.dtype])
        tensor = torch.empty_strided(info.sizes, info.steps, dtype=dtype, device=self._device)
        if info.name == b"sizes":
            tensor.copy_(torch.from_dlpack(Tensor(lib.tundish_batch_tensor(self.batch, number))))
        return tensor

    def _deliver_oldest(self) -> None:
        """Delivers the oldest batch: makes the loop's stream wait for it, and tells the allocator about this use."""
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
        """Makes `stream` wait for a delivered batch that no thread has taken yet."""
        delivered = self.delivered
        if delivered is None or delivered[1] == stream:
            return
        sent = delivered[0]
        stream.wait_event(sent.ready)
        for tensor in sent.tensors:
            tensor.record_stream(stream)
        self.delivered = (sent, stream)
