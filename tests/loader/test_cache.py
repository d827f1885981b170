"""Loader(cache=...): keeps the samples needed soonest in memory; batches stay the same."""

import warnings

import numpy as np
import pytest
import tundish
from PIL import Image
from tundish import transforms as T

OPTIONS = {
    "transforms": [T.RandomResizedCrop(24), T.RandomHorizontalFlip()],
    "shuffle": True,
    "seed": 3,
    "backend": "numpy",
}
KINDS = ["encoded", "decoded", "auto"]


def opened(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not all samples fit
        return tundish.Loader(path, 4, **{**OPTIONS, **options})


def half_of(path, **options):
    """Returns a budget that holds about half of the samples."""
    memory = 32 << 20
    with opened(path, memory=memory, **options) as loader:
        for _ in loader:  # a folder's sizes are unknown before the first epoch
            pass
        stats = loader.stats()
    return int(memory - stats["data/cache_room"] + stats["data/cache_bytes"] / 2)


def batches(loader, epochs=3):
    return [[a.tobytes() for a in batch] for _ in range(epochs) for batch in loader]


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_epoch_reads_nothing_when_all_fit(photos, kind):
    with opened(photos.pack, cache=kind, memory="256MiB", threads=1) as loader:
        expected = batches(opened(photos.pack))
        assert batches(loader) == expected
        stats = loader.stats()
        assert 0 < stats["data/cache_needed"] <= stats["data/memory"]
        assert stats["data/cache_bytes"] == stats["data/cache_needed"]
        assert stats["data/cache_misses"] == len(photos.names)
        assert stats["data/cache_hits"] >= 2 * len(photos.names)
        read = stats["data/bytes"]
        batches(loader)
        assert loader.stats()["data/bytes"] == read


@pytest.mark.parametrize("kind", ["encoded", "decoded"])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("what", ["pack", "folder"])
def test_the_batches_are_the_same_with_a_cache_that_is_too_small(photos, kind, threads, what):
    path = getattr(photos, what)
    options = {"cache": kind, "threads": threads, "exif_orientation": True}
    expected = batches(opened(path, exif_orientation=True))
    with opened(path, memory=half_of(path, **options), **options) as loader:
        assert batches(loader) == expected
        stats = loader.stats()
        assert stats["data/cache_hits"] > 0
        assert stats["data/cache_misses"] > len(photos.names)  # not all samples fitted


def test_other_fields_are_cached_too(photos, tmp_path):
    rows = ["path,label,caption"]
    rows += [f"{name},{i % 2},word {i}" for i, name in enumerate(photos.names)]
    listed = photos.folder / "list.csv"
    listed.write_text("\n".join(rows) + "\n")
    for kind in KINDS:
        with opened(listed, cache=kind, memory="64MiB", as_dict=True) as loader:
            first, second = (
                {c: i for b in loader for c, i in zip(b["caption"], b["label"], strict=True)}
                for _ in range(2)
            )
            assert first == second
            assert len(first) == len(photos.names)
            assert loader.stats()["data/cache_hits"] > 0
    listed.unlink()


@pytest.mark.parametrize("kind", ["encoded", "decoded"])
def test_a_resumed_run_has_the_same_batches_and_an_up_to_date_cache(photos, kind):
    run = opened(photos.pack)
    expected = batches(run, epochs=2)
    options = {"cache": kind, "threads": 1}
    with opened(photos.pack, memory=half_of(photos.pack, **options), **options) as loader:
        steps = len(loader)
        for step in (5, 1, steps - 1, 0):
            fresh = opened(photos.pack)
            for _, _ in zip(range(step), fresh, strict=False):
                pass
            loader.load_state_dict(fresh.state_dict() | {"position": 4 * step})
            assert batches(loader, epochs=1) == expected[step:steps]
        assert loader.stats()["data/cache_hits"] > 0


@pytest.mark.parametrize("rank", [0, 1])
def test_each_rank_has_its_own_cache(photos, rank):
    options = {"rank": rank, "world_size": 2, "on_error": "skip"}
    expected = batches(opened(photos.pack, **options), epochs=6)
    cached = {"cache": "encoded", "memory": "64MiB", "threads": 1}
    with opened(photos.pack, **cached, **options) as loader:
        assert batches(loader, epochs=6) == expected
        stats = loader.stats()
        assert stats["data/cache_hits"] > stats["data/cache_misses"]


def test_a_damaged_image_is_bad_with_a_cache_where_it_is_bad_without(photos, tmp_path):
    data = bytearray(photos.pack.read_bytes())
    for at in range(len(data) // 3, len(data) // 2, 4001):
        data[at] ^= 0x55
    damaged = tmp_path / "damaged.tnd"
    damaged.write_bytes(data)

    def run(**options):
        with opened(damaged, on_error="skip", return_index=True, **options) as loader:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out = batches(loader, epochs=4)
            return out, [(b["sample"], b["epoch"]) for b in loader.bad_samples()]

    expected = run()
    assert expected[1]
    for kind in KINDS:
        assert run(cache=kind, memory="64MiB") == expected


def test_a_cache_that_is_too_small_is_an_error_with_the_figures(photos):
    options = {"cache": "decoded", "threads": 1}
    memory = half_of(photos.pack, **options)
    with pytest.warns(
        UserWarning, match=r"need [\d.]+ \wiB as pixels, memory has [\d.]+ .*[4-6]\d %"
    ):
        tundish.Loader(photos.pack, 4, memory=memory, **OPTIONS, **options)


def test_auto_keeps_pixels_when_all_fit_and_stored_bytes_otherwise(photos):
    def needed(**options):
        with opened(photos.pack, threads=1, **options) as loader:
            return loader.stats()["data/cache_needed"]

    pixels, stored = needed(cache="decoded"), needed(cache="encoded")
    assert pixels > stored > 0
    assert needed(cache="auto") == pixels
    tight = half_of(photos.pack, cache="decoded", threads=1)
    assert needed(cache="auto", memory=tight) == stored


def test_without_a_budget_the_default_one_is_taken(photos):
    with opened(photos.pack, cache="auto") as loader:
        assert loader.memory == loader.stats()["data/memory"] > 0
    with opened(photos.pack) as loader:
        assert loader.memory == 0


def test_rotated_images_are_the_same_from_the_cache(tmp_path):
    (tmp_path / "a").mkdir()
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        rows, columns = np.mgrid[0:40, 0:60]
        levels = np.stack([4 * columns, 6 * rows, columns + rows], -1).astype(np.uint8)
        Image.fromarray(levels).save(tmp_path / "a" / f"{orientation}.jpg", exif=exif)
    expected = batches(opened(tmp_path, exif_orientation=True))
    assert expected != batches(opened(tmp_path))
    for kind in KINDS:
        # One thread: with several threads the cached samples depend on timing.
        options = {"exif_orientation": True, "cache": kind, "memory": "64MiB", "threads": 1}
        with opened(tmp_path, **options) as loader:
            assert batches(loader) == expected
            assert loader.stats()["data/cache_hits"] >= 16


def test_an_unknown_kind_is_refused(photos):
    with pytest.raises(ValueError, match="cache must be"):
        opened(photos.pack, cache="pixels")


def test_a_cached_image_is_the_image(photos):
    whole = {"transforms": [], "shuffle": False, "backend": "numpy"}
    plain = tundish.Loader(photos.pack, 1, **whole)
    with tundish.Loader(photos.pack, 1, cache="decoded", memory="256MiB", **whole) as loader:
        for _ in range(2):
            for (ours, _), (theirs, _) in zip(loader, plain, strict=True):
                assert np.array_equal(ours, theirs)
        assert loader.stats()["data/cache_hits"] > 0
