"""Images that a GPU cannot decode: zeros in the batch, bad samples in every report."""

import warnings
from types import SimpleNamespace

import pytest
import tundish
from tundish import transforms as T

pytest.importorskip("torch")

from tests.gpu import hostile_set
from tests.helpers.fake_gpu import FakeGpu

pytestmark = pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
CROP = [T.RandomResizedCrop(32)]
ZEROS = "a bad sample was delivered as zeros"


@pytest.fixture
def gpu(monkeypatch):
    return FakeGpu(monkeypatch)


@pytest.fixture(scope="module")
def hostile(photos, tmp_path_factory):
    """A pack with undecodable records, the record numbers, and the CPU's error for each record."""
    pack = tmp_path_factory.mktemp("hostile") / "hostile.tnd"
    spoilt = hostile_set.make(photos.pack, pack, 3)
    with tundish.Loader(pack, 4, transforms=CROP, on_error="skip", backend="numpy") as loader:
        with pytest.warns(UserWarning, match="a bad sample was left out"):
            list(loader)
        listed = loader.bad_samples()
    assert [one["sample"] for one in listed] == spoilt
    return SimpleNamespace(pack=pack, spoilt=spoilt, listed=listed, count=photos.count)


def opened(pack, **more):
    options = {"transforms": CROP, "return_index": True, "device": "cuda", "decode": "gpu"}
    return tundish.Loader(pack, 4, **options, **more)


def take(batches, count):
    return [index.tolist() for _, (*_, index) in zip(range(count), batches, strict=False)]


def test_images_that_kernels_cannot_decode_are_bad_samples_with_the_cpus_error(hostile, gpu):
    first, second = hostile.spoilt[:2]
    with opened(hostile.pack, on_error="skip") as loader:
        batches = iter(loader)
        got = take(batches, 2)
        gpu.refuse(first, position=first)
        gpu.refuse(second, position=second)
        with pytest.warns(UserWarning, match=ZEROS):
            got += take(batches, 99)
        assert [n for index in got for n in index] == list(range(hostile.count))
        report = loader.report()
        expected = [{**one, "delivered": "zeros"} for one in hostile.listed[:2]]
        assert report["bad_samples"] == loader.bad_samples() == expected
        assert (report["bad"], report["zeros"]) == (2, 2)
        assert (report["replaced"], report["skipped"]) == (0, 0)
        assert report["delivered"] + report["skipped"] == hostile.count
        stats = loader.stats()
        assert (stats["data/zeros"], stats["data/bad"]) == (2, 2)
        assert loader.epoch == 1


def test_the_report_table_mentions_zeros(hostile, gpu, tmp_path):
    with opened(hostile.pack, on_error="substitute") as loader:
        gpu.refuse(hostile.spoilt[0], position=0)
        with pytest.warns(UserWarning, match=ZEROS):
            list(loader)
        loader.write_report(tmp_path / "bad.txt")
    text = (tmp_path / "bad.txt").read_text()
    assert "1 images of zeros" in text
    assert "  zeros  " in text.splitlines()[2]


def test_undecodable_images_raise_with_on_error_fail_and_no_batch_is_lost(hostile, gpu):
    with opened(hostile.pack, on_error="fail") as loader, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        batches = iter(loader)
        got = take(batches, 1)
        gpu.refuse(hostile.spoilt[0], position=0)
        with pytest.raises(tundish.SampleError, match=r"TND-405 .*record 0") as raised:
            next(batches)
        assert str(raised.value) == hostile.listed[0]["text"]
        got += take(batches, 99)
        assert [n for index in got for n in index] == list(range(hostile.count))
        assert loader.stats()["data/zeros"] == 1


@pytest.mark.parametrize("late", [False, True])
def test_undecodable_images_count_against_max_bad_even_in_the_last_batch(hostile, gpu, late):
    steps = -(-hostile.count // 4)
    loader = opened(hostile.pack, on_error="skip", max_bad=0.05)
    with loader, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        batches = iter(loader)
        got = take(batches, steps if late else 1)
        for number in hostile.spoilt[:2]:
            gpu.refuse(number, position=number)
        if not late:
            got += take(batches, steps - 1)
        with pytest.raises(tundish.Error, match=r"TND-605 .*\n.*2 of 23 samples are bad"):
            next(batches)
        assert [n for index in got for n in index] == list(range(hostile.count))
        with pytest.raises(StopIteration):
            next(batches)
        assert loader.epoch == 1


def test_undecodable_images_of_an_abandoned_iteration_are_counted_not_raised(hostile, gpu):
    with opened(hostile.pack, on_error="fail") as loader, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        next(iter(loader))
        gpu.refuse(hostile.spoilt[0], position=0)
        assert len(take(loader, 99)) == -(-hostile.count // 4)
        assert [one["delivered"] for one in loader.bad_samples()] == ["zeros"]


def test_ctrl_c_before_a_bad_sample_is_recorded_loses_nothing(hostile, gpu, monkeypatch):
    from tundish.data.batch import pending_gpu_batches as pending

    def pressed(*_):
        raise KeyboardInterrupt

    with opened(hostile.pack, on_error="skip") as loader, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        batches = iter(loader)
        got = take(batches, 1)
        gpu.refuse(hostile.spoilt[0], position=0)
        with monkeypatch.context() as once:
            once.setattr(pending.lib, "tundish_loader_report_undecodable", pressed, raising=False)
            with pytest.raises(KeyboardInterrupt):
                next(batches)
        got += take(batches, 99)
        assert [n for index in got for n in index] == list(range(hostile.count))
        assert loader.stats()["data/zeros"] == 1
