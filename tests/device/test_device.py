"""Loader(device=...) without a GPU; tests/gpu/loader.py covers the rest on a GPU."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import tundish
from tundish import transforms as T
from tundish.data import loader_run as run
from tundish.data.batch.pending_gpu_batches import PendingGpuBatches

from tests.helpers.fake_gpu import FakeGpu
from tests.helpers.small_set import make_folder


def small_pack(tmp_path):
    make_folder(tmp_path / "images", 8)
    return tmp_path / "images"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_error_has_a_fix(tmp_path):
    pack = small_pack(tmp_path)
    with pytest.raises(tundish.Error, match=r"TND-509 .*torch sees no GPU\n.*nvidia-smi"):
        tundish.Loader(pack, 4, device="cuda")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"decode": "gpu"}, "need device"),
        ({"resident": True}, "need device"),
        ({"device": "cuda", "backend": "numpy"}, "needs torch"),
        ({"device": "meta"}, 'must be "cuda"'),
        ({"decode": "both"}, "decode must be one of cpu, gpu, auto"),
    ],
)
def test_contradictory_arguments_are_refused(tmp_path, arguments, text):
    with pytest.raises(ValueError, match=text):
        tundish.Loader(small_pack(tmp_path), 4, **arguments)


def test_the_cpu_is_not_a_valid_device(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tundish.Loader(small_pack(tmp_path), 4, device="cpu") as loader:
            assert loader.device is None
            assert loader.decoding == "cpu"
            images, _ = next(iter(loader))
            assert images.device.type == "cpu"


@pytest.fixture
def gpu(monkeypatch):
    return FakeGpu(monkeypatch)


def numbers_of(loader):
    return [(labels.tolist(), index.tolist()) for _, labels, index in loader]


def opened(path, **more):
    options = {"shuffle": True, "return_index": True, "transforms": [T.Resize((8, 8))]}
    return tundish.Loader(path, 3, **options, **more)


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_padded_images_are_delivered_with_their_sizes(tmp_path, gpu):
    path = make_folder(tmp_path / "images", 8)
    given = {"transforms": [T.RandomResize(3, 9)], "pad_to": 9, "return_sizes": True}
    with (
        tundish.Loader(path, 3, device="cuda", decode="cpu", **given) as on_gpu,
        tundish.Loader(path, 3, **given) as on_cpu,
    ):
        for mine, theirs in zip(on_gpu, on_cpu, strict=True):
            assert mine[0].shape == theirs[0].shape == (len(theirs[1]), 3, 9, 9)
            assert mine[1].tolist() == theirs[1].tolist()
            assert mine[2].tolist() == theirs[2].tolist()


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_batches_come_in_order_epoch_after_epoch(tmp_path, gpu):
    path = make_folder(tmp_path / "images", 32)
    on_gpu, on_cpu = opened(path, device="cuda", decode="cpu"), opened(path)
    for _ in range(3):
        assert numbers_of(on_gpu) == numbers_of(on_cpu)
        assert on_gpu.state_dict() == on_cpu.state_dict()
    assert len(gpu.waits) == 3 * 11


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_the_wait_of_the_gpu_is_counted_once_the_gpu_has_reached_it(tmp_path, gpu):
    loader = opened(make_folder(tmp_path / "images", 32), device="cuda", decode="cpu")
    list(loader)
    stats = loader.stats(reset=True)
    assert stats["data/gpu_wait_s"] == 11 * 0.25
    assert 0 < stats["data/gpu_wait_share"] <= 1
    assert stats["data/gpu_decoded"] == 0
    assert loader.stats()["data/gpu_wait_share"] == 0
    gpu.keeps_up = False
    list(loader)
    assert loader.stats()["data/gpu_wait_s"] == 11 * 0.25
    gpu.keeps_up = True
    with ThreadPoolExecutor(1) as other:  # may be recording a graph: no GPU queries
        assert other.submit(loader.stats).result()["data/gpu_wait_s"] == 11 * 0.25
    gpu.records = True
    assert loader.stats()["data/gpu_wait_s"] == 11 * 0.25
    gpu.records = False
    assert loader.stats()["data/gpu_wait_s"] == 22 * 0.25


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_gpu_decoded_images_are_counted_on_delivery(photos, gpu):
    transforms = [T.RandomResizedCrop(32)]
    with tundish.Loader(photos.pack, 3, transforms=transforms, device="cuda", decode="gpu") as one:
        batches = iter(one)
        assert one.stats()["data/gpu_decoded"] == 0
        next(batches)
        assert one.stats()["data/gpu_decoded"] == 3
        assert sum(len(labels) for _, labels in batches) == photos.count - 3
        others = sum(name.endswith(".png") or "cmyk" in name for name in photos.names)
        assert one.stats()["data/gpu_decoded"] == photos.count - others


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_a_loop_that_is_far_ahead_of_the_gpu_waits_for_it(tmp_path, gpu):
    loader = opened(make_folder(tmp_path / "images", 32), device="cuda", decode="cpu")
    gpu.keeps_up = False
    for _ in range(3):
        list(loader)
    # The host waits for the last batch of every epoch, and for batches too far behind.
    assert len(gpu.waited_for) > 3 + 33 - 20
    batches = iter(loader)
    gpu.keeps_up = True
    before = len(gpu.waited_for)
    next(batches)
    assert len(gpu.waited_for) == before
    loader.close()


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_the_state_counts_delivered_batches_not_pending_batches(tmp_path, gpu):
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
def test_an_error_follows_the_earlier_batches_and_the_loader_continues(tmp_path, gpu):
    path = make_folder(tmp_path / "images", 32)
    bad = sorted((path / "cat").iterdir())[7]
    bad.write_bytes(b"nothing")
    outcomes = {}
    for name, more in {"cpu": {}, "gpu": {"device": "cuda", "decode": "cpu"}}.items():
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
    assert outcomes["gpu"] == outcomes["cpu"]
    assert sum(isinstance(one, str) for one in outcomes["cpu"]) == 1


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_the_choice_of_decoder_is_logged_once(tmp_path, gpu, caplog):
    caplog.set_level("INFO", "tundish")
    gpu.decoding = -1
    with opened(make_folder(tmp_path / "images", 32), device="cuda") as loader:
        batches = iter(loader)
        next(batches)
        assert loader.decoding is None
        assert not caplog.messages
        gpu.decoding, gpu.chosen = 1, b"the GPU does"
        next(batches)
        next(batches)
        assert loader.decoding == "gpu"
        assert caplog.messages == ["the GPU does"]


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_the_stream_that_takes_a_batch_waits_for_the_batch(tmp_path, gpu, monkeypatch):
    loader = opened(make_folder(tmp_path / "images", 32), device="cuda", decode="cpu")
    batches = iter(loader)

    def pressed(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as once:
        once.setattr(run.Run, "_warn_about_bad_samples", pressed)
        with pytest.raises(KeyboardInterrupt):
            next(batches)
    assert len(gpu.waits) == 1
    gpu.stream = type(gpu.stream)()
    next(batches)
    assert len(gpu.waits) == 2
    assert gpu.waits[0] is gpu.waits[1]
    loader.close()


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_a_batch_may_be_taken_by_another_thread_between_two_polls(tmp_path, gpu, monkeypatch):
    loader = opened(make_folder(tmp_path / "images", 3), device="cuda", decode="cpu")
    batches = iter(loader)
    while not loader._run._advance(batches._iteration):  # a batch is ready, not delivered
        pass
    here, taken = PendingGpuBatches.is_ready, []

    def taken_meanwhile(pending):
        was = here(pending)
        if pending.out is not None:
            taken.append(pending.out)
            pending.out = pending.delivered = None
        return was

    monkeypatch.setattr(PendingGpuBatches, "is_ready", taken_meanwhile)
    assert list(batches) == []
    assert [sorted(index.tolist()) for *_, index in taken] == [[0, 1, 2]]
    loader.close()


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
def test_threads_that_share_an_iterator_get_each_batch_once(tmp_path, gpu):
    loader = opened(make_folder(tmp_path / "images", 32), device="cuda", decode="cpu")
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            batches = iter(loader)
            taken = [pool.submit(list, batches) for _ in range(4)]
            seen = [n for one in taken for *_, index in one.result(120) for n in index.tolist()]
            assert sorted(seen) == list(range(32))
            loader.stats(reset=True)
    assert loader.epoch == 20
