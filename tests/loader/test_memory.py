"""Loader(memory=...): resident memory is at most the budget and 64 MiB.

See docs/loader-performance.md.
"""

import gc
import os
import subprocess
import sys
import warnings

import pytest
import tundish
from tundish import transforms as T
from tundish._c.library import lib
from tundish.data import loader as module
from tundish.data.settings import memory_budget

from tests.helpers import memory_runs
from tests.helpers.memory_runs import MIB, Children, fault_of, make_data, random_run

RUNS = 50


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("memory"))


def plain(data, kind, **changes):
    run = {
        "path": str(data[kind]),
        "transforms": [["Resize", [64, 64]]],
        "batch_size": 2,
        "threads": 4,
        "prefetch": 2,
        "memory": 100 * MIB,
        "exif_orientation": False,
        "epochs": 1,
        "seed": 1,
        "counted": True,
        "cache": None,
    }
    return {**run, **changes}


@pytest.fixture(scope="module")
def execute():
    with Children() as children:
        yield children.execute


def test_random_loaders_stay_within_their_budgets(data, execute):
    delivered = hits = 0
    for seed in range(RUNS):
        run = random_run(seed, data)
        result = execute(run)
        assert not fault_of(run, result), (run, result)
        delivered += result["images"] > 0
        hits += result["hits"]
    assert delivered > RUNS // 2  # most runs were not refused
    assert hits > 0


@pytest.mark.parametrize("kind", ["small", "mixed", "mixed pack"])
def test_lists_of_images_stay_within_their_budgets(data, execute, kind):
    changes = {
        "transforms": [],
        "images_as": "list",
        "batch_size": 4,
        "epochs": 2,
        "memory": 300 * MIB,
    }
    run = plain(data, kind, **changes)
    result = execute(run)
    assert not fault_of(run, result), (run, result)
    assert result["images"] > 4


def test_without_a_budget_the_same_image_takes_more(data, execute):
    """Shows that accounting keeps the guarantee: without accounting the image needs more memory."""
    run = plain(data, "huge", threads=1, memory=150 * MIB)
    counted, free = execute(run), execute({**run, "counted": False})
    assert not fault_of(run, counted)
    assert (counted["images"], free["images"]) == (0, 1)
    assert free["grown"] > run["memory"] + memory_runs.SLACK


def test_an_image_that_never_fits_is_bad_with_the_required_bytes(data):
    with (
        tundish.Loader(
            data["huge"],
            memory="200MiB",
            transforms=[T.Resize((64, 64))],
            on_error="fail",
            backend="numpy",
        ) as loader,
        pytest.raises(
            tundish.SampleError, match=r"TND-408.*\n.*decoding it takes 3\d\d,\d+,\d+ bytes"
        ),
    ):
        list(loader)


def test_an_image_of_100_megapixels_fits_into_a_gigabyte(data, execute):
    run = plain(data, "huge", memory=600 * MIB)
    result = execute(run)
    assert not fault_of(run, result)
    assert result["images"] == 1


def test_a_budget_smaller_than_the_batches_is_refused_with_the_remedy(data):
    with pytest.raises(
        tundish.ArgumentError,
        match=r"TND-607.*\n.*6 batches of 60 x 150,528 bytes(.|\n)*smaller batch_size",
    ):
        tundish.Loader(
            data["small"],
            64,
            memory="50MB",
            transforms=[T.Resize((224, 224))],
            threads=1,
            backend="numpy",
        )


def test_the_batches_are_the_same_with_a_budget(photos):
    def batches(**options):
        with tundish.Loader(
            photos.folder,
            4,
            transforms=[T.RandomResizedCrop(24)],
            shuffle=True,
            backend="numpy",
            **options,
        ) as loader:
            return [images.tobytes() for images, _ in loader]

    assert batches() == batches(memory="64MiB")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("8GiB", 8 * 2**30),
        ("1.5 MiB", 3 * 2**19),
        ("500mb", 500_000_000),
        ("123", 123),
        (4096, 4096),
        (None, 0),
    ],
)
def test_human_readable_sizes_are_parsed(given, expected):
    assert memory_budget.budget(given) == expected


@pytest.mark.parametrize("given", ["8 G i B", "lots", "-1GiB", "", 0, -5, 1.5, True])
def test_invalid_sizes_are_refused(given):
    with pytest.raises(ValueError, match="memory must be"):
        memory_budget.budget(given)


GIB = 1 << 30


@pytest.fixture
def eight_gib_left(monkeypatch):
    monkeypatch.setattr(memory_budget.lib, "tundish_memory_left", lambda: 8 * GIB)


@pytest.mark.usefixtures("eight_gib_left")
def test_auto_is_divided_by_the_local_ranks(photos, monkeypatch):
    assert memory_budget.default_budget() == 4 * GIB
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    for rank in range(4):  # separate processes in practice
        with tundish.Loader(
            photos.pack, memory="auto", backend="numpy", rank=rank, world_size=4
        ) as loader:
            assert loader.memory == loader.stats()["data/memory"] == 1 * GIB


@pytest.mark.usefixtures("eight_gib_left")
def test_a_second_loader_leaves_the_first_one_its_budget(photos):
    with tundish.Loader(photos.pack, memory="auto", backend="numpy") as train:
        unused = train.unused_memory()
        assert 0 < unused <= train.memory == 4 * GIB
        with tundish.Loader(photos.pack, memory="auto", backend="numpy") as validate:
            assert validate.memory == (8 * GIB - unused) // 2
    assert memory_budget.default_budget() == 4 * GIB


@pytest.mark.usefixtures("eight_gib_left")
@pytest.mark.parametrize("failure", ["trace", "thread"])
def test_a_loader_whose_close_raised_is_closed_and_returns_its_budget(
    photos, tmp_path, monkeypatch, failure
):
    folder = tmp_path / "gone"
    folder.mkdir()
    loader = tundish.Loader(
        photos.pack, 4, memory="auto", backend="numpy", trace=folder / "trace.json",
        transforms=[T.Resize((8, 8))],
    )  # fmt: skip
    next(iter(loader))
    gc.collect()  # loaders of earlier tests end now, uncounted
    ended, end = [], lib.tundish_loader_end

    def counted(handle):
        ended.append(handle.value)
        return end(handle) + (failure == "thread")

    monkeypatch.setattr(lib, "tundish_loader_end", counted)
    if failure == "trace":
        folder.rmdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            loader.close()
        assert len(ended) == 1  # despite the error
        assert memory_budget.default_budget() == 4 * GIB
        assert loader.unused_memory() == 0
        with pytest.raises(tundish.Error, match="TND-606"):
            loader.stats()
        loader.close()
        del loader
        gc.collect()
    assert len(ended) == 1
    monkeypatch.setattr(lib, "tundish_loader_end", end)
    with tundish.Loader(photos.pack, memory="auto", backend="numpy") as other:
        assert other.memory == 4 * GIB


@pytest.mark.usefixtures("eight_gib_left")
def test_ctrl_c_in_close_still_ends_the_threads(photos, tmp_path, monkeypatch):
    trace = tmp_path / "trace.json"  # written by close()
    loader = tundish.Loader(photos.pack, memory="auto", backend="numpy", trace=trace)
    ended, end = [], lib.tundish_loader_end
    monkeypatch.setattr(lib, "tundish_loader_end", lambda h: ended.append(1) or end(h))

    def pressed(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(lib, "tundish_loader_write_trace", pressed)
    with pytest.raises(KeyboardInterrupt):
        loader.close()
    assert ended == [1]
    assert memory_budget.default_budget() == 4 * GIB


@pytest.mark.usefixtures("eight_gib_left")
def test_a_loader_whose_construction_failed_releases_its_budget(photos, monkeypatch):
    def fails(*_):
        raise ArithmeticError("planted")

    monkeypatch.setattr(module, "Sampler", fails)
    with pytest.raises(ArithmeticError) as kept:  # keeps the traceback, which references the loader
        tundish.Loader(photos.pack, memory="auto", backend="numpy")
    assert memory_budget.default_budget() == 4 * GIB
    del kept


def read_by_a_process(pack):
    """Returns the bytes read from the disk rather than from the page cache."""
    code = (
        "import sys, tundish\n"
        "from tundish import transforms as T\n"
        "with tundish.Loader(sys.argv[1], 4, transforms=[T.Resize((8, 8))], backend='numpy') as loader:\n"
        "    before = open('/proc/self/io').read()\n"
        "    assert sum(len(images) for images, _ in loader) > 0\n"
        "    after = open('/proc/self/io').read()\n"
        "figures = [int(text.split('\\nread_bytes:')[1].split()[0]) for text in (before, after)]\n"
        "print(figures[1] - figures[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(pack)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_loaders_and_ranks_share_the_system_s_copy_of_a_pack(data, tmp_path):
    pack = tmp_path / "copy.tnd"
    with open(pack, "wb") as file:
        file.write(data["small pack"].read_bytes())
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    read_by_a_process(pack)  # fills the page cache
    assert [read_by_a_process(pack) for _ in range(2)] == [0, 0]
