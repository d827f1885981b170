"""Several ranks share a dataset: no sample is lost or repeated, and all ranks have equal length."""

import pytest
import tundish
from tundish import transforms as T

from tests.helpers.warm_python import WarmProcess

COUNTS = [1, 2, 5, 11, 12, 13, 24, 37]
WORLDS = [1, 2, 3, 4, 7]


@pytest.fixture(scope="module")
def list_of(tiny, tmp_path_factory):
    """Returns a function that writes a list of the first `count` tiny images."""
    folder = tmp_path_factory.mktemp("lists")
    files = sorted(tiny.folder.rglob("*.png"))

    def make(count):
        path = folder / f"{count}.csv"
        rows = [f"{file},{number % 3}" for number, file in enumerate(files[:count])]
        path.write_text("\n".join(["path,label", *rows]) + "\n")
        return path

    return make


def ranks_of(path, world_size, batch_size=4, **options):
    """Returns the batches of sample numbers of every rank in an epoch."""
    out = []
    for rank in range(world_size):
        with tundish.Loader(
            path,
            batch_size,
            rank=rank,
            world_size=world_size,
            threads=1,
            return_index=True,
            backend="numpy",
            **options,
        ) as loader:
            batches = [index.tolist() for *_, index in loader]
            assert len(batches) == len(loader)
            out.append(batches)
    assert len({len(batches) for batches in out}) == 1, "ranks differ in length"
    return out


def flat(ranks):
    return [sample for batches in ranks for batch in batches for sample in batch]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("count", COUNTS)
def test_exact_ranks_cover_the_dataset_exactly_once(list_of, count, shuffle):
    for world_size in WORLDS:
        ranks = ranks_of(list_of(count), world_size, uneven="exact", shuffle=shuffle)
        assert sorted(flat(ranks)) == list(range(count))


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("count", COUNTS)
def test_padded_ranks_are_equally_long_and_repeat_fewer_samples_than_ranks(list_of, count, shuffle):
    for world_size in WORLDS:
        ranks = ranks_of(list_of(count), world_size, uneven="pad", shuffle=shuffle)
        assert set(flat(ranks)) == set(range(count))
        assert len(flat(ranks)) - count < world_size
        for step in zip(*ranks, strict=True):
            assert len({len(batch) for batch in step}) == 1


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("count", COUNTS)
def test_dropping_omits_less_than_a_global_batch(list_of, count, shuffle):
    for world_size in WORLDS:
        ranks = ranks_of(list_of(count), world_size, uneven="drop", shuffle=shuffle)
        got = flat(ranks)
        assert len(set(got)) == len(got) == count - count % (4 * world_size)
        assert all(len(batch) == 4 for batches in ranks for batch in batches)


@pytest.mark.parametrize("uneven", ["exact", "drop"])
def test_a_global_batch_over_its_ranks_is_the_batch_of_one_rank(tiny, digest, uneven):
    import numpy as np

    options = {
        "transforms": [T.RandomResizedCrop(6), T.RandomHorizontalFlip()],
        "shuffle": True,
        "uneven": uneven,
        "threads": 1,
        "return_index": True,
        "backend": "numpy",
    }
    alone = list(tundish.Loader(tiny.pack, 12, **options))
    for world_size in (2, 3, 4, 6):
        ranks = [
            list(
                tundish.Loader(
                    tiny.pack, 12 // world_size, rank=rank, world_size=world_size, **options
                )
            )
            for rank in range(world_size)
        ]
        joined = [
            tuple(np.concatenate(parts) for parts in zip(*step, strict=True))
            for step in zip(*ranks, strict=True)
        ]
        assert digest(joined) == digest(alone)


def test_a_rank_without_samples_gets_an_empty_batch_of_the_right_shape(list_of):
    for rank, expected in enumerate([1, 1, 0, 0]):
        loader = tundish.Loader(
            list_of(2),
            4,
            rank=rank,
            world_size=4,
            uneven="exact",
            transforms=[T.Resize((6, 7)), T.Normalize()],
        )
        ((images, labels),) = loader
        assert images.shape == (expected, 3, 6, 7)
        assert labels.shape == (expected,)
        assert str(images.dtype) == "torch.float32"


def test_the_default_is_pad_when_shuffling_and_exact_otherwise(list_of):
    assert len(flat(ranks_of(list_of(11), 3, shuffle=True))) == 12
    assert len(flat(ranks_of(list_of(11), 3))) == 11


# --- which rank am I --------------------------------------------------------------------------


def place(path, **options):
    loader = tundish.Loader(path, backend="numpy", **options)
    return loader.rank, loader.world_size


def test_one_rank_is_the_default(tiny):
    assert place(tiny.pack) == (0, 1)


def test_torchrun_gives_the_rank(tiny, monkeypatch):
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "5")
    assert place(tiny.pack) == (2, 5)
    assert place(tiny.pack, rank=0, world_size=1) == (0, 1)


def test_slurm_gives_the_rank_of_a_task_that_srun_started(tiny, monkeypatch):
    monkeypatch.setenv("SLURM_PROCID", "3")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    assert place(tiny.pack) == (3, 4)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    assert place(tiny.pack) == (0, 2), "torchrun inside a Slurm job"


def test_ranks_started_by_slurm_tasks_are_not_a_conflict(tiny, monkeypatch):
    monkeypatch.setenv("SLURM_PROCID", "1")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("RANK", "5")
    assert place(tiny.pack) == (5, 8), "four processes per task"
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert place(tiny.pack) == (1, 2), "the same ranks"


@pytest.mark.parametrize(("rank", "world_size"), [(0, 2), (0, 8), (1, 3), (0, 1)])
def test_an_environment_that_contradicts_slurm_is_refused_and_both_are_printed(
    tiny, monkeypatch, rank, world_size
):
    monkeypatch.setenv("SLURM_PROCID", "1")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", str(world_size))
    with pytest.raises(ValueError, match=rf"rank {rank} of {world_size}, Slurm .* rank 1 of 2"):
        place(tiny.pack)
    assert place(tiny.pack, rank=1, world_size=3) == (1, 3)


def test_a_batch_script_of_slurm_is_one_process_whatever_the_job_reserved(tiny, monkeypatch):
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    assert place(tiny.pack) == (0, 1)


def test_an_incomplete_environment_is_refused(tiny, monkeypatch):
    monkeypatch.setenv("RANK", "2")
    with pytest.raises(ValueError, match=r"RANK is set and WORLD_SIZE is not"):
        place(tiny.pack)
    monkeypatch.setenv("WORLD_SIZE", "many")
    with pytest.raises(ValueError, match=r"WORLD_SIZE.*'many'"):
        place(tiny.pack)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="rank 2 does not exist in a world of 2"):
        place(tiny.pack)


def test_local_ranks_share_the_cpus(tiny, monkeypatch):
    from tundish._c.library import lib

    cpus = lib.tundish_usable_cpus()
    assert tundish.Loader(tiny.pack, backend="numpy").threads == cpus
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1000000")
    assert tundish.Loader(tiny.pack, backend="numpy").threads == 1


DISTRIBUTED = """
import os, sys
import torch.distributed
import tundish
path, store, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])
torch.distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
loader = tundish.Loader(path, 30, shuffle=True, return_index=True)
assert (loader.rank, loader.world_size) == (rank, 2)
mine = [i for *_, index in loader for i in index.tolist()]
both = [None, None]
torch.distributed.all_gather_object(both, (mine, loader.state_dict()))
assert set(both[0][0]) | set(both[1][0]) == set(range(355))
assert both[0][1] == both[1][1]
os.environ["WORLD_SIZE"] = "2"  # alone, as Lightning's launcher leaves it
assert tundish.Loader(path).rank == rank
os.environ["RANK"] = str(1 - rank)
try:
    tundish.Loader(path)
except ValueError as error:
    print(error)
torch.distributed.destroy_process_group()
"""


def test_torch_distributed_gives_the_rank_and_a_contradicting_environment_is_refused(
    tiny, tmp_path
):
    store = f"file://{tmp_path}/store"
    ranks = [WarmProcess(["-c", DISTRIBUTED, tiny.pack, store, rank]) for rank in range(2)]
    for rank, process in enumerate(ranks):
        out, err = process.communicate(timeout=180)
        assert process.returncode == 0, err
        assert f"torch.distributed has rank {rank} of 2" in out
        assert f"has rank {1 - rank} of 2: pass rank= and world_size=" in out
