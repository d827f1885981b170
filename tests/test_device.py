"""Loader(device=...): what can be said without a GPU. tests/gpu/loader.py does the rest on one."""

import ctypes
import warnings

import numpy as np
import pytest
import tundish
from small_set import make_folder
from tundish import _library, device
from tundish.choice import BLOCK, BLOCKS, FIRST, SETTLE, Choice

torch = pytest.importorskip("torch")


def small_pack(tmp_path):
    make_folder(tmp_path / "images", 8)
    return tmp_path / "images"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_is_said_what_to_do(tmp_path):
    pack = small_pack(tmp_path)
    with pytest.raises(tundish.Error, match=r"TND-509 .*torch sees no GPU\n.*nvidia-smi"):
        tundish.Loader(pack, 4, device="cuda")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"decode": "gpu"}, "need device"),
        ({"resident": True}, "need device"),
        ({"device": "cuda", "decode": "cpu", "resident": True}, "contradicts"),
        ({"device": "cuda", "backend": "numpy"}, "needs torch"),
        ({"device": "meta"}, 'must be "cuda"'),
        ({"decode": "both"}, "decode must be one of cpu, gpu, auto"),
    ],
)
def test_arguments_that_contradict_each_other(tmp_path, arguments, text):
    with pytest.raises(ValueError, match=text):
        tundish.Loader(small_pack(tmp_path), 4, **arguments)


def test_the_cpu_is_no_device(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tundish.Loader(small_pack(tmp_path), 4, device="cpu") as loader:
            assert loader.device is None
            assert loader.decoding == "cpu"
            images, _ = next(iter(loader))
            assert images.device.type == "cpu"


class FakeGpu:
    """Stands in for torch.cuda and the kernels: labels and numbers arrive, images stay empty."""

    def __init__(self, monkeypatch):
        self.waits = []  # events that the loop's stream was told to wait for
        self.refuses = False  # once, when it is asked
        gpu = self

        class Event:
            def record(self, stream):
                self.stream = stream

        class Stream:
            cuda_stream = 7

            def __init__(self, device=None, priority=0):
                pass

            def wait_event(self, event):
                gpu.waits.append(event)

        class Nothing:
            def __init__(self, _):
                pass

            def __enter__(self):
                pass

            def __exit__(self, *_):
                pass

        self.stream = Stream()
        empty = torch.empty
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda device: self.stream)
        monkeypatch.setattr(torch.cuda, "Stream", Stream)
        monkeypatch.setattr(torch.cuda, "Event", Event)
        monkeypatch.setattr(torch.cuda, "stream", Nothing)
        monkeypatch.setattr(torch.cuda, "device", Nothing)
        monkeypatch.setattr(torch, "empty", lambda *a, device, **k: empty(*a, **k))
        monkeypatch.setattr(torch.Tensor, "record_stream", lambda tensor, stream: None)
        fakes = {
            "tundish_can_pin": lambda: 0,
            "tundish_device_new": lambda *_: _library.DeviceHandle(),
            "tundish_device_dtype": lambda _: 0,
            "tundish_device_finish": self.finish,
            "tundish_device_look_back": self.look_back,
        }
        real = device.lib

        class Lib:
            def __getattr__(self, name):
                return fakes.get(name) or getattr(real, name)

        monkeypatch.setattr(_library.DeviceHandle, "__bool__", lambda _: True, raising=False)
        monkeypatch.setattr(device, "lib", Lib())

    def finish(self, _, batch, images, labels, samples):
        for which, to in ((1, labels), (2, samples)):
            numbers = np.asarray(_library.Tensor(_library.lib.tundish_batch_tensor(batch, which)))
            ctypes.memmove(to, numbers.ctypes.data, numbers.nbytes)
        return _library.OK

    def look_back(self, _):
        refuses, self.refuses = self.refuses, False
        return _library.ERROR if refuses else _library.OK


@pytest.fixture
def gpu(monkeypatch):
    return FakeGpu(monkeypatch)


def numbers_of(loader):
    return [(labels.tolist(), index.tolist()) for _, labels, index in loader]


def opened(path, **more):
    options = {"shuffle": True, "return_index": True, "transforms": [tundish.Resize((8, 8))]}
    return tundish.Loader(path, 3, **options, **more)


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_batches_come_in_order_epoch_after_epoch(tmp_path, gpu):
    path = make_folder(tmp_path / "images", 32)
    there, here = opened(path, device="cuda", decode="cpu"), opened(path)
    for _ in range(3):
        assert numbers_of(there) == numbers_of(here)
        assert there.state_dict() == here.state_dict()
    assert len(gpu.waits) == 3 * 11


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_the_state_is_of_what_was_handed_out_not_of_what_is_on_its_way(tmp_path, gpu):
    path = make_folder(tmp_path / "images", 32)
    whole = numbers_of(opened(path))
    for step in range(10):
        first = opened(path, device="cuda", decode="cpu")
        batches = iter(first)
        for _ in range(step + 1):
            next(batches)
        second = opened(path, device="cuda", decode="cpu")
        second.load_state_dict(first.state_dict())
        assert numbers_of(second) == whole[step + 1 :]
        first.close()


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_an_error_comes_behind_the_batches_before_it_and_the_loader_goes_on(tmp_path, gpu):
    path = make_folder(tmp_path / "images", 32)
    bad = sorted((path / "cat").iterdir())[7]
    bad.write_bytes(b"nothing")
    outcomes = {}
    for name, more in {"here": {}, "there": {"device": "cuda", "decode": "cpu"}}.items():
        loader = opened(path, on_error="fail", **more)
        outcomes[name] = []
        batches = iter(loader)
        while True:
            try:
                outcomes[name].append(next(batches)[2].tolist())
            except tundish.SampleError as error:
                outcomes[name].append(str(error))
            except StopIteration:
                break
    assert outcomes["there"] == outcomes["here"]
    assert sum(isinstance(one, str) for one in outcomes["here"]) == 1


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_what_no_kernel_could_decode_is_raised_and_nothing_is_lost(tmp_path, gpu):
    path = make_folder(tmp_path / "images", 32)
    whole = numbers_of(opened(path))
    loader = opened(path, device="cuda", decode="cpu")
    batches = iter(loader)
    got = [next(batches)[2].tolist()]
    gpu.refuses = True
    with pytest.raises(tundish.Error):
        next(batches)
    got += [index.tolist() for _, _, index in batches]
    assert got == [index for _, index in whole]


class Mark:
    """An event of a GPU that is past it once `now` has come there."""

    def __init__(self, clock, at):
        self._clock, self.at = clock, at

    def query(self):
        return self._clock["gpu"] >= self.at

    def elapsed_time(self, other):
        return other.at - self.at


class Run:
    """A training of which a step takes so many ms on each road; batches in between are on their way."""

    def __init__(self, monkeypatch, ms, behind=6):
        self.clock = {"host": 0.0, "gpu": 0.0}
        self.roads = []  # of the batches that are open
        self.ms, self.behind = ms, behind
        self.there = None
        monkeypatch.setattr(Choice, "_mark", lambda _, stream: Mark(self.clock, self.clock["host"]))
        self.choice = Choice(self.decode_there)
        self.roads = [self.there] * behind

    def decode_there(self, there):
        self.there = there

    def step(self):
        road = self.roads.pop(0)
        self.roads.append(self.there)
        self.clock["host"] += self.ms[road]
        self.clock["gpu"] = self.clock["host"] - 200  # the GPU is behind the host
        self.choice.handed_over(road, None)


@pytest.mark.parametrize("ms", [{False: 30, True: 31}, {False: 45, True: 31}])
def test_the_faster_road_is_chosen_without_waiting_for_the_gpu(monkeypatch, ms):
    run = Run(monkeypatch, ms)
    steps = 0
    while run.choice.on_gpu is None:
        run.step()
        steps += 1
        assert steps < 200
    assert run.choice.on_gpu is (ms[True] < ms[False])
    assert run.there is run.choice.on_gpu
    # The blocks, the batches on their way between them, and the GPU that was behind.
    assert steps <= FIRST + 2 * BLOCKS * (BLOCK + run.behind) + 200 // min(ms.values()) + 2


def test_a_step_that_compiles_and_batches_of_the_other_road_do_not_count(monkeypatch):
    run = Run(monkeypatch, {False: 30, True: 30.5})
    for number in range(200):
        if number in (0, 3, FIRST + SETTLE + 2):
            run.clock["host"] += 20_000
        run.step()
    assert run.choice.on_gpu is False
