"""An undelivered batch is not lost after Ctrl-C or another exception."""

import signal
import warnings

import numpy as np
import pytest
import tundish
from tundish._c.functions import END, OK
from tundish._c.library import lib

from tests.helpers.loaders import opened


def press():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def ctrl_c_after(monkeypatch):
    """Raises SIGINT once, after a call of this library function has returned `result`."""

    def plant(name, result=None):
        real, pressed = getattr(lib, name), []

        def call(*arguments):
            value = real(*arguments)
            if not pressed and (result is None or value == result):
                pressed.append(True)
                press()
            return value

        monkeypatch.setattr(lib, name, call)
        return pressed

    return plant


def rest_of(iterator, seen):
    for *_, index in iterator:
        seen += index.tolist()
    return seen


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("tundish_loader_next", OK),
        ("tundish_loader_next", END),
        ("tundish_batch_get_info", None),
        ("tundish_batch_tensor", None),
        ("tundish_loader_bad_positions", None),
    ],
)
def test_ctrl_c_inside_next_loses_no_batch(photos, ctrl_c_after, name, result):
    loader = opened(photos.pack, 4, return_index=True, backend="numpy")
    iterator = iter(loader)
    seen = next(iterator)[2].tolist()
    pressed = ctrl_c_after(name, result)
    with pytest.raises(KeyboardInterrupt):
        rest_of(iterator, seen)
    assert pressed
    assert loader.state_dict()["position"] == len(seen), "what was not handed out is not counted"
    assert rest_of(iterator, seen) == list(range(23))
    assert (loader.epoch, next(iter(loader))[2].tolist()) == (1, [0, 1, 2, 3])


def test_ctrl_c_inside_next_and_a_state_saved_then_lose_no_batch(photos, ctrl_c_after):
    loader = opened(photos.pack, 4, return_index=True, backend="numpy")
    seen = []
    ctrl_c_after("tundish_loader_next", OK)
    with pytest.raises(KeyboardInterrupt):
        rest_of(loader, seen)
    state = loader.state_dict()
    assert rest_of(iter(loader), []) == list(range(23)), "a new iterator begins where the old did"
    loader.load_state_dict(state)
    assert rest_of(loader, seen) == list(range(23))


def test_ctrl_c_keeps_no_memory(photos, ctrl_c_after, monkeypatch):
    loader = opened(photos.pack, 23, prefetch=1, threads=1, backend="numpy")
    list(loader)
    slots = loader.stats()["data/slots"]
    for _ in range(4):
        with monkeypatch.context():
            ctrl_c_after("tundish_batch_tensor")
            with pytest.raises(KeyboardInterrupt):
                next(iter(loader))
        monkeypatch.undo()
        list(loader)
    assert loader.stats()["data/slots"] <= slots + 1


def test_a_warning_that_is_an_error_loses_no_batch(make, tmp_path):
    for n in range(12):
        image = make.png(n, 8, 8)
        make.write(tmp_path / "x" / f"{n:02}.png", image[:60] if n == 5 else image)
    loader = opened(tmp_path, 4, return_index=True, backend="numpy")
    seen, iterator = [], iter(loader)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="a bad sample was left out"):
            rest_of(iterator, seen)
        assert loader.state_dict()["position"] == 4
        assert rest_of(iterator, seen) == [n for n in range(12) if n != 5]


def test_an_unused_iterator_skips_nothing(photos):
    loader = opened(photos.pack, 4, return_index=True, backend="numpy")
    iter(loader)
    iter(loader)
    assert rest_of(loader, []) == list(range(23))
    assert loader.epoch == 1
    loader.load_state_dict({**loader.state_dict(), "epoch": 7, "position": 12})
    iter(loader)
    assert (rest_of(loader, []), loader.epoch) == (list(range(12, 23)), 8)


def test_an_abandoned_loop_ends_its_epoch(photos):
    loader = opened(photos.pack, 4, return_index=True, backend="numpy")
    for _ in loader:
        break
    assert (rest_of(loader, []), loader.epoch) == (list(range(23)), 2)


def test_the_epoch_may_be_set_before_the_first_batch(photos):
    loader = opened(photos.pack, 23, shuffle=True, return_index=True, backend="numpy")
    fifth = opened(photos.pack, 23, shuffle=True, return_index=True, backend="numpy")
    fifth.set_epoch(5)
    iter(loader)
    loader.set_epoch(5)
    assert np.array_equal(next(iter(loader))[2], next(iter(fifth))[2])


def test_after_an_error_the_iterator_goes_on_and_a_new_one_has_the_next_epoch(make, tmp_path):
    for n in range(6):
        image = make.png(n, 8, 8)
        make.write(tmp_path / "x" / f"{n:02}.png", image[:60] if n == 1 else image)
    loader = opened(tmp_path, 2, return_index=True, backend="numpy", on_error="fail")
    iterator = iter(loader)
    with pytest.raises(tundish.SampleError):
        next(iterator)
    assert next(iterator)[2].tolist() == [2, 3]
    iterator = iter(loader)
    assert loader.epoch == 1
    with pytest.raises(tundish.SampleError):
        next(iterator)
    iter(loader)
    assert loader.epoch == 2
