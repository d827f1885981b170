"""seed_everything: all generators, the workers of torch's DataLoader, the flags, and undo."""

import os
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
import torch
import tundish
from torch.utils.data import DataLoader, Dataset
from tundish.tuning.seeds import WorkerSeeds, seed_everything


@pytest.fixture(autouse=True)
def _flags_as_before(monkeypatch):
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    yield
    torch.use_deterministic_algorithms(False)
    torch.backends.cudnn.deterministic = False
    torch.backends.cudnn.benchmark = False


def draw():
    return random.random(), float(np.random.rand()), float(torch.rand(()))


def test_equal_seeds_give_equal_numbers_of_every_generator():
    seed_everything(3)
    first = draw()
    seed_everything(3)
    assert draw() == first
    seed_everything(4)
    assert all(a != b for a, b in zip(draw(), first))


def test_children_hash_strings_equally():
    seed_everything(5)
    code = "print(hash('a word'))"
    hashes = {subprocess.check_output([sys.executable, "-c", code]) for _ in range(2)}
    assert len(hashes) == 1
    assert os.environ["PYTHONHASHSEED"] == "5"


class Draws(Dataset):
    """Draws numbers as augmentations do, from Python, NumPy and torch."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return torch.tensor(draw(), dtype=torch.float64)


def two_epochs(seeds):
    loader = DataLoader(
        Draws(),
        batch_size=3,
        num_workers=2,
        worker_init_fn=seeds.worker_init_fn,
        generator=seeds.generator,
        multiprocessing_context="fork",
    )
    return torch.cat([batch for _ in range(2) for batch in loader])


def test_no_two_workers_and_no_two_epochs_draw_the_same_numbers():
    drawn = two_epochs(seed_everything(1))
    for column in drawn.T:
        assert len(column.unique()) == 24
    assert torch.equal(two_epochs(seed_everything(1)), drawn)


def as_worker(worker_init_fn, number, base=1000):
    """Simulates a forked worker before torch 1.9: torch is seeded, NumPy has the parent's state."""
    np.random.seed(0)
    random.seed(0)
    torch.manual_seed(base + number)
    worker_init_fn(number)
    return draw()


def test_numpy_is_seeded_in_workers_if_torch_does_not_seed_it():
    old = [as_worker(lambda number: None, number)[1] for number in range(2)]
    assert old[0] == old[1]  # the bug: equal numbers
    new = [as_worker(seed_everything(0).worker_init_fn, number) for number in range(2)]
    assert all(a != b for a, b in zip(*new))


def test_workers_of_two_ranks_draw_other_numbers(monkeypatch):
    drawn = []
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        drawn.append(as_worker(seed_everything(0).worker_init_fn, 0))
    assert all(a != b for a, b in zip(*drawn))
    assert pickle.loads(pickle.dumps(WorkerSeeds(1))) == WorkerSeeds(1)  # for spawned workers


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_the_rank_of_workers_may_be_known_only_later(monkeypatch, way):
    """Scripts seed in their first line; mp.spawn and Lightning's launcher set no RANK."""
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    drawn = []
    for rank in range(2):
        given = pickle.loads(pickle.dumps(seed_everything(0).worker_init_fn))  # to the ranks
        with monkeypatch.context() as group:
            group.setattr(torch.distributed, "is_initialized", lambda: True)
            group.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
            group.setattr(torch.distributed, "get_world_size", lambda: 2)
            text = pickle.dumps(given)
            if way == "fork":
                drawn.append(as_worker(given, 0))
        if way == "spawn":  # the worker has no process group
            drawn.append(as_worker(pickle.loads(text), 0))
    assert all(a != b for a, b in zip(*drawn))


def flags():
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.backends.cudnn.deterministic,
        torch.backends.cudnn.benchmark,
        os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
        os.environ.get("PYTHONHASHSEED"),
    )


@pytest.mark.parametrize("mode", [True, "warn"])
def test_deterministic_sets_the_flags_and_undo_restores_them(mode):
    torch.backends.cudnn.benchmark = True
    before = flags()
    seeds = seed_everything(2, deterministic=mode)
    assert flags() == (True, mode == "warn", True, False, ":4096:8", "2")
    seeds.undo()
    assert flags() == before


def test_without_deterministic_the_flags_stay():
    torch.backends.cudnn.benchmark = True
    before = flags()
    seed_everything(2)
    assert flags()[:5] == before[:5]


def test_undo_restores_generators_only_on_request():
    seed_everything(8)
    states = random.getstate(), torch.get_rng_state()
    first = draw()
    random.setstate(states[0])
    torch.set_rng_state(states[1])
    np.random.seed(8)
    seeds = seed_everything(9)
    seeds.undo()
    assert draw() != first
    seeds.undo(generators=True)
    assert draw() == first


def test_a_nondeterministic_operation_raises_or_warns():
    tensor, index = torch.zeros(3), torch.tensor([0])
    seed_everything(0, deterministic=True)
    with pytest.raises(RuntimeError, match="deterministic"):
        tensor.put_(index, torch.ones(1))
    seed_everything(0, deterministic="warn")
    with pytest.warns(UserWarning, match="deterministic"):
        tensor.put_(index, torch.ones(1))


def test_cuda_that_was_used_before_is_reported(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", list)
    before = flags()
    with pytest.raises(tundish.ArgumentError, match="before the first use of CUDA"):
        seed_everything(0, deterministic=True)
    assert flags() == before
    with pytest.warns(RuntimeWarning, match="CUBLAS_WORKSPACE_CONFIG") as caught:
        seed_everything(0, deterministic="warn")
    assert caught[0].filename == __file__
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    seed_everything(0, deterministic=True)
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, "1", True, np.int64(-1), np.float64(1)])
def test_an_invalid_seed_is_refused(seed):
    with pytest.raises(tundish.ArgumentError, match="fix: pass an integer from 0 to 4294967295"):
        seed_everything(seed)


@pytest.mark.parametrize("kind", [np.int64, np.uint32])
def test_integers_of_numpy_are_seeds(kind):
    seed_everything(7)
    expected = random.random(), np.random.rand(), torch.rand(1).item()
    seeds = seed_everything(kind(7))
    assert type(seeds.seed) is int
    assert os.environ["PYTHONHASHSEED"] == "7"
    assert (random.random(), np.random.rand(), torch.rand(1).item()) == expected


def test_an_invalid_mode_is_refused():
    with pytest.raises(tundish.ArgumentError, match='True, False or "warn"'):
        seed_everything(0, deterministic="always")
