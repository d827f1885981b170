"""A fake GPU for tests on machines without a GPU."""

import ctypes

import numpy as np
import torch
from tundish._c.functions import OK
from tundish._c.handles import DeviceHandle
from tundish._c.library import lib
from tundish._c.structs import RefusedSample, TensorInfo
from tundish._c.tensor import Tensor
from tundish.data.batch import pending_gpu_batches as pending
from tundish.data.gpu import device


class Nothing:
    def __init__(self, _):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def event_of(gpu):
    class Event:
        def __init__(self, enable_timing=False):
            self.timed = enable_timing

        def record(self, stream):
            self.stream = stream

        def elapsed_time(self, other):
            assert self.timed
            assert other.timed
            return 250.0

        def query(self):
            return gpu.keeps_up

        def synchronize(self):
            gpu.waited_for.append(self)

    return Event


def stream_of(gpu):
    class Stream:
        cuda_stream = 7

        def __init__(self, device=None, priority=0):
            pass

        def wait_event(self, event):
            gpu.waits.append(event)

    return Stream


class FakeGpu:
    """Replaces torch.cuda and the engine's kernels. Delivers labels, numbers and arrays, but no images."""

    def __init__(self, monkeypatch):
        self.waits = []  # events that the loop's stream waits for
        self.waited_for = []  # events that the host waited for
        self.keeps_up = True  # whether the GPU has finished all queued work
        self.records = False  # whether the stream is capturing a graph
        self.decoding = 0  # where images are decoded: 0 CPU, 1 GPU, -1 not chosen yet
        self.chosen = None  # text that explains the choice, returned once
        self.refused = []  # images that failed to decode and have not been polled
        Stream, Event = stream_of(self), event_of(self)
        self.stream = Stream()
        empty_strided = torch.empty_strided
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda device: self.stream)
        monkeypatch.setattr(torch.cuda, "Stream", Stream)
        monkeypatch.setattr(torch.cuda, "Event", Event)
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: self.records)
        monkeypatch.setattr(torch.cuda, "stream", Nothing)
        monkeypatch.setattr(torch.cuda, "device", Nothing)
        monkeypatch.setattr(torch, "empty_strided", lambda *a, device, **k: empty_strided(*a, **k))
        monkeypatch.setattr(torch.Tensor, "record_stream", lambda tensor, stream: None)
        self.fake_library(monkeypatch)

    def fake_library(self, monkeypatch):
        fakes = {
            "tundish_can_pin": lambda: 0,
            "tundish_device_new": lambda *_: DeviceHandle(),
            "tundish_device_enqueue": self.finish,
            "tundish_device_poll_completed": self.poll_completed,
            "tundish_device_abandon_iteration": self.abandon_iteration,
            "tundish_device_delivered": self.delivered,
            "tundish_device_decoding": lambda _: self.decoding,
        }

        class Lib:
            def __getattr__(self, name):
                return fakes.get(name) or getattr(lib, name)

        monkeypatch.setattr(DeviceHandle, "__bool__", lambda _: True, raising=False)
        for module in (device, pending):
            monkeypatch.setattr(module, "lib", Lib())

    def finish(self, _, batch, out):
        for which in range(len(out)):
            info = TensorInfo()
            lib.tundish_batch_tensor_info(batch, which, ctypes.byref(info))
            if info.name.startswith(b"image") or info.name == b"sizes":
                continue
            numbers = np.asarray(Tensor(lib.tundish_batch_tensor(batch, which)))
            ctypes.memmove(out[which], numbers.ctypes.data, numbers.nbytes)
        return OK

    def delivered(self, _, coded, stream):
        chosen, self.chosen = self.chosen, None
        return chosen

    def refuse(self, sample, position, epoch=0):
        self.refused.append(RefusedSample(sample, epoch, position, wanted=1, pending=1))

    def poll_completed(self, _, out):
        if self.refused and not out._obj.pending:
            ctypes.pointer(out._obj)[0] = self.refused.pop(0)
        return OK

    def abandon_iteration(self, _):
        for one in self.refused:
            one.wanted = 0
