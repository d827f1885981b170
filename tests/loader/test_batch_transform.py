"""Loader(batch_transform=f): a user function applied to each batch."""

import pickle
import threading

import numpy as np
import pytest
import torch
from tundish.data.batch import batch_transform as module

from tests.helpers.fake_gpu import FakeGpu
from tests.helpers.loaders import RANDOM, opened


def swapped(batch):
    images, labels = batch
    return {"x": images.flip(0), "y": labels.flip(0)}


def notes(error):
    return "\n".join(error.__notes__)


def test_the_loop_gets_what_the_function_returns(photos):
    plain = list(opened(photos.pack, transforms=RANDOM, shuffle=True))
    changed = list(opened(photos.pack, transforms=RANDOM, shuffle=True, batch_transform=swapped))
    assert len(plain) == len(changed) > 1
    for (images, labels), batch in zip(plain, changed, strict=True):
        assert torch.equal(batch["x"], images.flip(0))
        assert torch.equal(batch["y"], labels.flip(0))


def test_the_function_gets_the_dict_the_index_or_arrays(photos):
    seen = []

    def look(batch):
        seen.append(batch)
        return batch

    next(iter(opened(photos.pack, as_dict=True, batch_transform=look)))
    next(iter(opened(photos.pack, return_index=True, batch_transform=look)))
    next(iter(opened(photos.pack, backend="numpy", batch_transform=look)))
    assert set(seen[0]) >= {"image", "label"}
    assert len(seen[1]) == 3
    assert isinstance(seen[2][0], np.ndarray)


def test_the_function_runs_on_the_thread_of_the_loop(photos):
    threads = set()

    def look(batch):
        threads.add(threading.current_thread())
        return batch

    list(opened(photos.pack, batch_transform=look))
    assert threads == {threading.current_thread()}


def test_the_functions_time_is_in_the_statistics(photos, monkeypatch):
    ticks = iter([0.0, 2.0, 10.0, 13.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(ticks))
    loader = opened(photos.pack, batch_transform=lambda batch: batch)
    assert loader.stats()["data/batch_transform_s"] == 0
    batches = iter(loader)
    next(batches)
    next(batches)
    assert loader.stats(reset=True)["data/batch_transform_s"] == 5
    assert loader.stats()["data/batch_transform_s"] == 5  # a sum
    assert opened(photos.pack).stats()["data/batch_transform_s"] == 0


def test_an_error_names_its_batch_and_the_next_batch_follows(photos):
    calls = []

    def fail_once(batch):
        calls.append(batch)
        if len(calls) == 2:
            raise KeyError("mine")
        return batch

    loader = opened(photos.pack, return_index=True, batch_transform=fail_once)
    batches = iter(loader)
    assert next(batches)[2].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(KeyError, match="mine") as caught:
        next(batches)
    assert "positions 5 to 9 of epoch 0" in notes(caught.value)
    assert str(photos.pack) in notes(caught.value)
    assert loader.state_dict()["position"] == 10  # the same as after an error in the loop's body
    assert next(batches)[2].tolist() == [10, 11, 12, 13, 14]


def test_a_stop_iteration_does_not_end_the_epoch_silently(photos):
    def stop(batch):
        raise StopIteration

    loader = opened(photos.pack, batch_transform=stop)
    with pytest.raises(RuntimeError, match="raised StopIteration") as caught:
        list(loader)
    assert "positions 0 to 4" in notes(caught.value)


def test_a_function_that_returns_nothing_is_an_error(photos):
    loader = opened(photos.pack, batch_transform=lambda batch: None)
    with pytest.raises(TypeError, match="must return the batch"):
        next(iter(loader))


def test_a_value_that_is_not_callable_is_refused(photos):
    with pytest.raises(TypeError, match="batch_transform must be a function of a batch"):
        opened(photos.pack, batch_transform="mixup")


def test_the_function_is_not_part_of_a_state(photos):
    with_it = opened(photos.pack, transforms=RANDOM, batch_transform=swapped)
    without = opened(photos.pack, transforms=RANDOM)
    assert with_it.state_dict() == without.state_dict()
    next(iter(with_it))
    without.load_state_dict(with_it.state_dict())
    images, labels = next(iter(without))
    replayed = with_it.replay(with_it.state_dict()).batch
    assert torch.equal(replayed["y"], labels.flip(0))
    copy = pickle.loads(pickle.dumps(with_it))
    assert torch.equal(next(iter(copy))["x"], images.flip(0))


def test_on_a_gpu_the_function_runs_after_the_stream_waits_for_the_batch(photos, monkeypatch):
    gpu = FakeGpu(monkeypatch)
    waits = []

    def look(batch):
        waits.append(len(gpu.waits))  # the loop's stream already waits for this batch
        return batch[1]

    with pytest.warns(UserWarning, match="pageable memory"):
        loader = opened(photos.pack, device="cuda", batch_transform=look)
    labels = list(loader)
    assert waits == list(range(1, len(labels) + 1))
    expected = [labels for _, labels in opened(photos.pack)]
    assert [one.tolist() for one in labels] == [one.tolist() for one in expected]
