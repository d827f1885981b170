"""threads="auto" in Python; src/loader/engine/tuning/ has the tests of the engine's rule."""

import logging

import pytest
import tundish
from tundish.data.tuning import TuningLog, describe_change

CHANGE = {
    "at_s": 1.5,
    "from": 8,
    "threads": 3,
    "prefetch_from": 4,
    "prefetch": 4,
    "samples_per_s": 1000.0,
    "predicted_samples_per_s": 1000.0,
    "reason": "the trainer takes 1000 samples/s, for which 2.0 workers are busy",
}


def batches(photos, **options):
    with tundish.Loader(photos.pack, 3, shuffle=True, backend="numpy", **options) as loader:
        return [(images.tobytes(), labels.tobytes()) for _ in range(2) for images, labels in loader]


@pytest.fixture
def crop():
    return {"transforms": [tundish.transforms.RandomResizedCrop(16)]}


def test_a_tuned_loader_gives_the_batches_of_one_thread(photos, crop):
    assert batches(photos, **crop) == batches(photos, threads=1, **crop)


def test_auto_is_the_default_and_shows_what_it_chose(photos, crop):
    with tundish.Loader(photos.pack, 3, **crop) as loader:
        list(loader)
        stats = loader.stats()
        assert 1 <= stats["data/threads"] <= 4 * loader.threads
        assert stats["data/thread_changes"] == len(loader.thread_changes())
        assert "tuning" not in stats
        assert all(isinstance(value, (int, float)) for value in stats.values())


@pytest.mark.parametrize("threads", [None, 2])
def test_a_fixed_number_stays(photos, crop, threads):
    with tundish.Loader(photos.pack, 3, threads=threads, **crop) as loader:
        list(loader)
        stats = loader.stats()
        assert stats["data/threads"] == loader.threads
        assert stats["data/predicted_rate"] == 0
        assert loader.thread_changes() == []


def test_prefetch_is_tuned_only_with_the_threads(photos, crop):
    for given, prefetch in (({"threads": 2}, 4), ({"prefetch": 7}, 7), ({"threads": None}, 4)):
        with tundish.Loader(photos.pack, 3, **given, **crop) as loader:
            list(loader)
            assert loader.stats()["data/prefetch"] == prefetch
            assert all(one["prefetch"] == prefetch for one in loader.thread_changes())
    with pytest.raises(ValueError, match="prefetch must be \"auto\" or a number, not 'deep'"):
        tundish.Loader(photos.pack, prefetch="deep")


def test_a_tuned_loader_resumes_with_the_same_batches(photos, crop):
    expected = batches(photos, threads=1, **crop)
    options = {"shuffle": True, "backend": "numpy", **crop}
    got = []
    with tundish.Loader(photos.pack, 3, **options) as loader:
        for images, labels in loader:
            got.append((images.tobytes(), labels.tobytes()))
            if len(got) == 3:
                break
        state = loader.state_dict()
    with tundish.Loader(photos.pack, 3, **options) as loader:
        loader.load_state_dict(state)
        got += [(images.tobytes(), labels.tobytes()) for _ in range(2) for images, labels in loader]
    assert got == expected


def test_an_invalid_value_of_threads_is_refused(photos):
    with pytest.raises(ValueError, match="threads must be \"auto\", a number or None, not 'many'"):
        tundish.Loader(photos.pack, threads="many")


class _Engine:
    def __init__(self):
        self.changes = [CHANGE]

    def tuning(self):
        return len(self.changes), self.changes[-2:]


def test_each_change_is_logged_once(caplog, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    engine = _Engine()
    log = TuningLog(engine, tunes=True)
    with caplog.at_level(logging.INFO, "tundish"):
        log.poll()
        log.poll()
        assert [one.getMessage() for one in caplog.records] == [describe_change(CHANGE)]
        engine.changes += [{**CHANGE, "threads": 4}]
        log.poll()  # less than a second later
        assert len(caplog.records) == 1
        now[0] = 1.0
        log.poll()
        assert len(caplog.records) == 2
        assert "8 -> 4" in caplog.records[1].getMessage()


def test_a_change_is_described_in_one_line():
    assert describe_change(CHANGE) == (
        "threads: 8 -> 3: the trainer takes 1000 samples/s, for which 2.0 workers are busy; "
        "1,000 samples/s before, 1,000 predicted"
    )
    budget = {**CHANGE, "samples_per_s": 0.0, "predicted_samples_per_s": 0.0, "reason": "why"}
    assert describe_change(budget) == "threads: 8 -> 3: why"
    assert describe_change({**budget, "prefetch": 8}) == "threads: 8 -> 3, prefetch: 4 -> 8: why"
    assert describe_change({**budget, "from": 3, "prefetch": 8}) == "prefetch: 4 -> 8: why"
