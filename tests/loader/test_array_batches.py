"""Batches of arrays are the same for every memory=, cache=, thread count, rank and resumed run.

All formats that hold arrays give the same bytes, and a GPU receives the arrays unchanged.
"""

import json
import os
import zlib

import numpy as np
import pytest
import torch
import tundish

from tests.helpers.fake_gpu import FakeGpu
from tests.helpers.memory_runs import MIB, Children, fault_of
from tests.helpers.program import needs_program

pytestmark = needs_program

COUNT = 23
FORMATS = ["npy", "npz", "pack", "hdf5", "zarr", "tfrecord"]


def write_zarr(path, array, chunk):
    """Writes a Zarr 2 array with zlib-compressed chunks along axis 0."""
    path.mkdir()
    head = {"zarr_format": 2, "shape": array.shape, "chunks": [chunk, *array.shape[1:]]}
    head |= {"dtype": array.dtype.str, "order": "C", "fill_value": 0, "filters": None}
    (path / ".zarray").write_text(json.dumps(head | {"compressor": {"id": "zlib", "level": 1}}))
    rest = ".0" * (array.ndim - 1)
    for number, first in enumerate(range(0, len(array), chunk)):
        part = np.zeros((chunk, *array.shape[1:]), array.dtype)
        part[: len(array) - first] = array[first : first + chunk]
        (path / f"{number}{rest}").write_bytes(zlib.compress(part.tobytes(), 1))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The same arrays in each format, by the name of the format."""
    root = tmp_path_factory.mktemp("arrays")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(COUNT, 4, 6, 2)).astype(np.float32)
    labels = rng.integers(0, 5, COUNT)
    np.save(root / "x.npy", x)
    np.savez(root / "x.npz", x=x, other=x[:, 0] * 2, y=labels)
    tundish.pack(root / "x.npz", root / "x.tnd", progress=False)
    tundish.convert(root / "x.npz", root / "x.h5", "hdf5")
    tundish.convert(root / "x.npz", root / "x.tfrecord", "tfrecord")
    write_zarr(root / "x.zarr", x, 3)
    paths = {"npy": "x.npy", "npz": "x.npz", "pack": "x.tnd", "hdf5": "x.h5", "zarr": "x.zarr"}
    return {name: root / file for name, file in {**paths, "tfrecord": "x.tfrecord"}.items()}


def opened(path, **options):
    given = {"shuffle": True, "seed": 3, "backend": "numpy", "as_dict": True, "threads": 3}
    return tundish.Loader(path, 4, **{**given, **options})


def content(batch):
    """Returns all arrays of a batch as type, shape and bytes; lists of text stay unchanged."""
    return {
        name: value if isinstance(value, list) else (value.dtype, value.shape, value.tobytes())
        for name, value in batch.items()
    }


def batches(loader, epochs=1):
    return [content(batch) for _ in range(epochs) for batch in loader]


@pytest.mark.parametrize("form", FORMATS)
def test_memory_and_cache_options_do_not_change_the_batches(form, data):
    expected = batches(opened(data[form], threads=1), 2)
    for options in (
        {"memory": "64MiB"},
        {"memory": "64MiB", "cache": "encoded"},
        {"memory": "64MiB", "cache": "decoded", "threads": 1},
        {"memory": "64MiB", "cache": "auto", "prefetch": 1},
    ):
        with opened(data[form], **options) as loader:
            assert batches(loader, 2) == expected, options


@pytest.mark.parametrize("form", FORMATS)
def test_a_second_epoch_reads_nothing_when_all_fit(form, data):
    with opened(data[form], memory="64MiB", cache="auto", threads=1) as loader:
        batches(loader)
        read = loader.stats()["data/bytes"]
        batches(loader, 2)
        stats = loader.stats()
    assert 0 < stats["data/bytes"] == read
    assert stats["data/cache_bytes"] == stats["data/cache_needed"] > 0
    assert stats["data/cache_misses"] == COUNT
    assert stats["data/memory_used"] <= stats["data/memory"] == 64 * MIB


@pytest.mark.parametrize("form", FORMATS)
def test_a_resumed_run_and_ranks_go_on_with_the_same_bytes(form, data):
    whole = batches(opened(data[form]), 2)
    with opened(data[form], memory="64MiB", cache="auto") as loader:
        steps = len(loader)
        for number, _ in enumerate(loader):
            if number == 2:
                break
        state = loader.state_dict()
    with opened(data[form], threads=1) as loader:
        loader.load_state_dict(state)
        assert batches(loader, 2) == whole[3 : 2 * steps]
    with opened(data[form], memory="64MiB", cache="auto") as loader:
        loader.load_state_dict(state)
        assert batches(loader) == whole[3:steps]
    options = {"batch_size": 2, "world_size": 2, "uneven": "pad", "memory": "64MiB"}
    ranks = [
        [{name: list(value) for name, value in batch.items()} for batch in loader]
        for loader in (_of_rank(data[form], rank, options) for rank in (0, 1))
    ]
    for step, (one, other) in enumerate(zip(*ranks, strict=True)):
        if step == steps - 1:  # the last step is padded
            continue
        for name in one:
            both = one[name] + other[name]
            is_text = isinstance(both[0], str)
            assert content({name: both if is_text else np.stack(both)})[name] == whole[step][name]


def _of_rank(path, rank, options):
    given = {"shuffle": True, "seed": 3, "backend": "numpy", "as_dict": True, "cache": "auto"}
    return tundish.Loader(path, rank=rank, **given, **options)


def test_every_element_type_is_preserved(tmp_path):
    names = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    names += ["float16", "float32", "float64"]
    values = np.random.default_rng(1).random((6, 2, 3, 2, 2)) * 100 - 20
    arrays = {f"a_{name}": values.astype(np.int64).astype(name) for name in names}
    np.savez(tmp_path / "x.npz", **arrays)
    for backend in ("numpy", "torch"):
        with tundish.Loader(tmp_path / "x.npz", 6, backend=backend) as loader:
            (batch,) = loader
        for name, array in arrays.items():
            np.testing.assert_array_equal(np.asarray(batch[name]), array)
            assert str(batch[name].dtype).removeprefix("torch.") == array.dtype.name


def test_bfloat16_needs_torch(tmp_path):
    path = tmp_path / "x.safetensors"
    wanted = torch.arange(40).reshape(4, 2, 5).bfloat16()
    head = json.dumps({"x": {"dtype": "BF16", "shape": [4, 2, 5], "data_offsets": [0, 80]}})
    elements = wanted.view(torch.uint8).numpy().tobytes()
    path.write_bytes(len(head).to_bytes(8, "little") + head.encode() + elements)
    with pytest.raises(ValueError, match="bfloat16 needs torch"):
        tundish.Loader(path, 4, backend="numpy")
    with tundish.Loader(path, 4) as loader:
        ((x, _),) = loader
    assert torch.equal(x, wanted)


def test_a_cache_that_is_too_small_keeps_a_part(tmp_path):
    x = np.random.default_rng(2).normal(size=(400, 128, 32)).astype(np.float32)  # 6.4 MB
    np.save(tmp_path / "x.npy", x)
    with pytest.warns(UserWarning, match=r"cache: the samples need 6.25 MiB as they are stored"):
        loader = opened(tmp_path / "x.npy", memory=12 * MIB, cache="auto", threads=1)
    with loader:
        assert batches(loader, 2) == batches(opened(tmp_path / "x.npy"), 2)
        stats = loader.stats()
    assert 0 < stats["data/cache_hits"] < 400
    assert stats["data/cache_bytes"] <= stats["data/cache_room"]
    assert stats["data/memory_used"] <= stats["data/memory"]


def test_a_budget_that_cannot_hold_the_batches_is_refused(data):
    with pytest.raises(tundish.Error, match=r"TND-607 .*\n.* batches of 4 x 192 bytes"):
        opened(data["npy"], memory="1MiB")


# --- the memory of the process ------------------------------------------------------------------


def large_npy(root):
    """Writes a sparse file of 240 MiB."""
    np.lib.format.open_memmap(root / "x.npy", "w+", np.float32, (240, 512, 512))
    return root / "x.npy"


def large_zarr(root):
    """Links 2 MiB chunks to one file: 240 MiB that a reader would keep in memory."""
    path = root / "x.zarr"
    write_zarr(path, np.zeros((2, 512, 512), np.float32), 2)
    head = json.loads((path / ".zarray").read_text())
    (path / ".zarray").write_text(json.dumps(head | {"shape": [240, 512, 512]}))
    for number in range(1, 120):
        os.link(path / "0.0.0", path / f"{number}.0.0")
    return path


@pytest.fixture(scope="module")
def children():
    with Children() as processes:
        yield processes


@pytest.mark.parametrize(
    ("make", "memory", "cache"),
    [
        (large_npy, 50, None),
        (large_npy, 50, "auto"),
        (large_zarr, 64, None),
        (large_zarr, 64, "auto"),
    ],
)
def test_the_memory_budget_is_kept(make, memory, cache, children, tmp_path):
    run = {
        "path": str(make(tmp_path)),
        "transforms": [],
        "batch_size": 2,
        "threads": 1,
        "prefetch": 2,
        "memory": memory * MIB,
        "exif_orientation": False,
        "epochs": 1,
        "cache": cache,
        "seed": 1,
        "counted": True,
    }
    result = children.execute(run)
    assert fault_of(run, result) == ""
    assert result["refused"] == ""
    assert result["images"] == 240


# --- device="cuda" ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:batches are copied from pageable memory")
@pytest.mark.parametrize("form", FORMATS)
def test_arrays_arrive_on_a_gpu_unchanged(form, data, monkeypatch):
    gpu = FakeGpu(monkeypatch)
    options = {"backend": "torch", "return_index": True}
    expected = list(opened(data[form], **options))
    for more in ({}, {"memory": "64MiB", "cache": "auto"}, {"decode": "cpu"}):
        with opened(data[form], device="cuda", **options, **more) as loader:
            found = list(loader)
            assert loader.decoding == "cpu"
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert one.keys() == other.keys()
            for name in one:
                same = one[name] == other[name]
                assert same if isinstance(same, bool) else same.all(), name
    assert gpu.waits


def test_arrays_are_not_decoded_by_a_gpu(data, monkeypatch):
    FakeGpu(monkeypatch)
    for options in ({"decode": "gpu"}, {"resident": True}):
        with (
            pytest.warns(UserWarning, match="pageable"),
            pytest.raises(ValueError, match="the samples are arrays, of which nothing"),
        ):
            opened(data["npy"], backend="torch", device="cuda", **options)
