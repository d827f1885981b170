"""A stopped and resumed run gives the same batches as an uninterrupted run."""

import json
import pickle
import re

import numpy as np
import pytest
import torch
import tundish
from tundish import transforms as T

TRANSFORMS = [
    T.RandomResizedCrop(5),
    T.RandomHorizontalFlip(),
    T.Normalize(),
]
STEPS = 60
GLOBAL_BATCH = 6


def opened(path, *, world_size=1, rank=0, threads=1, **options):
    """Returns a loader with a global batch of 6 for any world size; 60 steps on the tiny set."""
    options.setdefault("batch_size", GLOBAL_BATCH // world_size)
    options.setdefault("transforms", TRANSFORMS)
    options.setdefault("shuffle", True)
    options.setdefault("seed", 11)
    options.setdefault("return_index", True)
    options.setdefault("backend", "numpy")
    return tundish.Loader(path, rank=rank, world_size=world_size, threads=threads, **options)


def values(batch):
    return tuple(array.tobytes() for array in batch)


def samples(batches):
    return [int(i) for batch in batches for i in batch[2]]


@pytest.fixture(scope="module")
def uninterrupted(tiny):
    """Batches of an epoch and the state before and after each, by world size and rank."""
    runs = {}
    for world_size in (1, 2, 3):
        for rank in range(world_size):
            loader = opened(tiny.pack, world_size=world_size, rank=rank)
            loader.set_epoch(2)
            batches, states = [], [loader.state_dict()]
            for batch in loader:
                batches.append(values(batch))
                states.append(loader.state_dict())
            assert len(batches) == len(loader) == STEPS
            runs[world_size, rank] = batches, states
    return runs


@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 4])
def test_resuming_at_every_step_gives_the_rest_of_the_epoch(
    tiny, uninterrupted, world_size, threads
):
    for rank in range(world_size):
        batches, states = uninterrupted[world_size, rank]
        for step in range(STEPS + 1):
            loader = opened(tiny.pack, world_size=world_size, rank=rank, threads=threads)
            loader.load_state_dict(json.loads(json.dumps(states[step])))
            rest = [values(batch) for batch in loader]
            assert rest == batches[step:], f"rank {rank}, step {step}"


def test_one_loader_can_be_set_to_any_step_repeatedly(tiny, uninterrupted):
    batches, states = uninterrupted[2, 1]
    loader = opened(tiny.pack, world_size=2, rank=1, threads=4)
    for step in (59, 0, 60, 30, 30, 31, 1, 58):
        loader.load_state_dict(states[step])
        assert [values(batch) for batch in loader] == batches[step:]


def test_the_state_is_json_small_and_the_same_on_every_rank(uninterrupted):
    def places(world_size):  # run_config records the split of the batch for replays
        states = uninterrupted[world_size, 0][1]
        return [{name: state[name] for name in state if name != "run_config"} for state in states]

    for world_size in (1, 2, 3):
        for rank in range(world_size):
            assert uninterrupted[world_size, rank][1] == uninterrupted[world_size, 0][1]
        assert places(world_size) == places(1)
    for state in uninterrupted[1, 0][1]:
        text = json.dumps(state)
        assert len(text) < 750
        assert json.loads(text) == state


def test_any_rank_resumes_from_the_state_of_any_other(tiny, uninterrupted):
    state = uninterrupted[3, 0][1][23]
    for rank in range(3):
        loader = opened(tiny.pack, world_size=3, rank=rank)
        loader.load_state_dict(state)
        assert [values(batch) for batch in loader] == uninterrupted[3, rank][0][23:]


def test_the_state_counts_delivered_samples_not_prefetched_samples(tiny):
    loader = opened(tiny.pack, prefetch=32, threads=4)
    iterator = iter(loader)
    positions = [loader.state_dict()["position"]]
    for _ in range(5):
        next(iterator)
        positions.append(loader.state_dict()["position"])
    assert positions == [0, 6, 12, 18, 24, 30]


def test_a_run_may_stop_many_times(tiny, uninterrupted):
    batches, states = uninterrupted[1, 0]
    got, state = [], states[0]
    for steps in (1, 7, 0, 2, 25, 1, 24):
        loader = opened(tiny.pack)
        loader.load_state_dict(state)
        iterator = iter(loader)
        got += [values(next(iterator)) for _ in range(steps)]
        state = loader.state_dict()
    assert got == batches
    assert state == states[STEPS]


def test_a_state_saved_after_the_last_batch_has_no_remaining_batches(tiny, uninterrupted):
    batches, states = uninterrupted[1, 0]
    loader = opened(tiny.pack)
    loader.load_state_dict(states[STEPS])
    assert list(loader) == []
    assert loader.epoch == 3
    third = [values(batch) for batch in loader]
    straight = opened(tiny.pack)
    straight.set_epoch(3)
    assert third == [values(batch) for batch in straight]
    assert third != batches


def test_a_state_saved_between_epochs_begins_with_the_next(tiny):
    loader = opened(tiny.pack)
    list(loader)
    state = loader.state_dict()
    assert (state["epoch"], state["position"]) == (1, 0)
    second = [values(batch) for batch in loader]
    again = opened(tiny.pack)
    again.load_state_dict(state)
    assert [values(batch) for batch in again] == second


def test_iterating_after_a_resumed_epoch_gives_the_next_epoch(tiny, uninterrupted):
    loader = opened(tiny.pack)
    loader.load_state_dict(uninterrupted[1, 0][1][50])
    assert len(list(loader)) == 10
    assert loader.epoch == 3
    assert len(list(loader)) == STEPS


def test_a_framework_that_sets_the_epoch_keeps_the_place_of_a_resumed_state(tiny, uninterrupted):
    batches, states = uninterrupted[1, 0]
    loader = opened(tiny.pack)
    loader.load_state_dict(states[40])
    loader.sampler.set_epoch(2)
    assert [values(batch) for batch in loader] == batches[40:]
    loader.load_state_dict(states[40])
    loader.set_epoch(1)
    assert len(list(loader)) == STEPS


def test_a_framework_may_begin_an_iteration_before_it_sets_the_epoch(tiny, uninterrupted):
    batches, states = uninterrupted[1, 0]
    loader = opened(tiny.pack)
    loader.load_state_dict(states[40])
    iter(loader)
    iterator = iter(loader)
    loader.sampler.set_epoch(2)
    assert [values(batch) for batch in iterator] == batches[40:]
    loader.load_state_dict({**states[STEPS], "epoch": 1})  # state after the last batch
    iterator = iter(loader)
    loader.sampler.set_epoch(2)
    assert [values(batch) for batch in iterator] == batches


def test_loading_a_state_ends_a_running_iteration(tiny, uninterrupted):
    batches, states = uninterrupted[1, 0]
    loader = opened(tiny.pack)
    iterator = iter(loader)
    next(iterator)
    loader.load_state_dict(states[30])
    with pytest.raises(RuntimeError, match="newer iteration"):
        next(iterator)
    assert [values(batch) for batch in loader] == batches[30:]


def test_prefetch_memory_format_and_error_policy_may_change_on_resume(tiny, uninterrupted):
    batches, states = uninterrupted[1, 0]
    for change in (
        {"prefetch": 1},
        {"memory_format": "contiguous"},
        {"on_error": "fail"},
        {"as_dict": True},
    ):
        loader = opened(tiny.pack, **change)
        loader.load_state_dict(states[57])
        rest = [tuple(b.values()) if isinstance(b, dict) else b for b in loader]
        assert [values(batch) for batch in rest] == batches[57:]


@pytest.mark.parametrize("uneven", ["exact", "pad"])
@pytest.mark.parametrize("second", [(1, 6), (1, 5), (2, 7), (3, 2), (4, 1), (5, 50)])
def test_world_size_and_batch_size_may_change_and_every_sample_still_comes_once(
    tiny, uneven, second
):
    ranks, batch_size = second
    seen = []
    for rank in range(2):
        loader = opened(tiny.pack, world_size=2, rank=rank, uneven=uneven)
        iterator = iter(loader)
        seen += samples(next(iterator) for _ in range(13))
    state = loader.state_dict()
    lengths = set()
    for rank in range(ranks):
        loader = opened(
            tiny.pack, world_size=ranks, rank=rank, batch_size=batch_size, uneven=uneven
        )
        loader.load_state_dict(state)
        rest = list(loader)
        lengths.add(len(rest))
        seen += samples(rest)
    assert len(lengths) == 1
    assert set(seen) == set(range(tiny.count))
    repeats = len(seen) - tiny.count
    assert repeats == 0 if uneven == "exact" else 0 <= repeats < ranks


def test_the_samples_after_a_change_of_world_size_are_those_of_the_unchanged_run(tiny):
    whole = opened(tiny.pack, uneven="exact")
    expected = samples(whole)
    loader = opened(tiny.pack, uneven="exact", batch_size=7)
    iterator = iter(loader)
    got = samples(next(iterator) for _ in range(20))
    state = loader.state_dict()
    ranks = []
    for rank in range(3):
        loader = opened(tiny.pack, world_size=3, rank=rank, uneven="exact", batch_size=4)
        loader.load_state_dict(state)
        ranks.append(list(loader))
    for step in zip(*ranks, strict=True):
        got += samples(step)
    assert got == expected


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"seed": 12}, r"another seed \(\d+, here 12\)"),
        ({"shuffle": False}, r"another order \(shuffled, here as stored\)"),
        (
            {"transforms": [T.RandomResizedCrop(6)]},
            r"other transforms \(transforms\[0\], RandomResizedCrop: .*",
        ),
        (
            {"transforms": TRANSFORMS[:2]},
            r"other transforms \(transforms\[2\] is Normalize, here nothing\)",
        ),
        ({"exif_orientation": True}, "exif_orientation=False, here True"),
    ],
    ids=str,
)
def test_a_state_of_another_run_is_refused(tiny, change, difference):
    state = opened(tiny.pack).state_dict()
    other = opened(tiny.pack, **change)
    with pytest.raises(tundish.Error, match=r"TND-603.*cannot continue from this state") as caught:
        other.load_state_dict(state)
    assert caught.value.code == "TND-603"
    assert isinstance(caught.value, ValueError)
    assert re.search(rf"why: it was saved with {difference}\n", str(caught.value))
    assert "create the loader with the same data and arguments" in str(caught.value)
    assert len(list(other)) == STEPS


def test_a_state_of_other_data_is_refused(tiny, photos):
    state = opened(tiny.pack).state_dict()
    with pytest.raises(tundish.Error, match=r"TND-603.*\n.*it was saved with other data\n"):
        opened(photos.pack).load_state_dict(state)


def test_a_state_of_the_same_file_opened_with_other_options_is_refused(tmp_path):
    arrays = {name: np.full((6, 6, 4, 3), n, np.uint8) for n, name in enumerate(["image", "mask"])}
    labels = {name: np.full(6, n) for n, name in enumerate(["label", "coarse"])}
    np.savez(tmp_path / "a.npz", **arrays, **labels)

    def loader(**options):
        source = tundish.DataSource(str(tmp_path / "a.npz"), **options)
        return tundish.Loader(source, 3, seed=1, shuffle=True, backend="numpy")

    state = loader().state_dict()
    for same in ({"image": "image"}, {"label": "label"}, {"axis": 0}, {"format": "npz"}):
        loader(**same).load_state_dict(state)
    other = loader(label="coarse").state_dict()
    for options in ({"label": "coarse"}, {"image": "mask"}, {"label": "coarse", "image": "mask"}):
        with pytest.raises(tundish.Error, match=r"TND-603.*\n.*it was saved with other data\n"):
            loader(**options).load_state_dict(state)
    loader(label="coarse").load_state_dict(other)
    with pytest.raises(tundish.Error, match="TND-603"):
        loader().load_state_dict(other)


def test_a_state_of_another_version_is_refused_and_its_writer_named(tiny):
    loader = opened(tiny.pack)
    state = loader.state_dict()
    assert state["version"] == tundish.__version__
    of_0_1 = {"format": 1, **{k: state[k] for k in ("fingerprint", "seed", "epoch", "position")}}
    others = [
        (of_0_1, "tundish 0.1 wrote it"),
        ({**state, "version": "9.8", "order_version": 1}, "tundish 9.8 wrote it"),
        ({**state, "version": "9.8", "random_version": 99}, "tundish 9.8 wrote it"),
    ]
    for other, writer in others:
        with pytest.raises(tundish.Error, match=f"TND-603(.|\\n)*{writer}"):
            loader.load_state_dict(other)
    loader.set_epoch(of_0_1["epoch"] + 1)  # as the message advises
    assert len(list(loader)) == STEPS


def test_an_invalid_state_is_refused(tiny):
    loader = opened(tiny.pack)
    state = loader.state_dict()
    for wrong in (
        {},
        {"epoch": 0},
        None,
        [],
        {**state, "format": 3},
        {**state, "random_version": 1},
        {**state, "order_version": 1},
        {**state, "seed": None},
        {**state, "run_config": 1},
        {**state, "run_config": {"batch_size": 0}},
        {**state, "run_config": {"color": 1}},
        {**state, "position": tiny.count + 1},
        {**state, "position": -1},
        {**state, "epoch": -1},
        {**state, "epoch": "one"},
        {**state, "position": None},
        {**state, "position": 2.5},
    ):
        with pytest.raises(ValueError, match=r"state"):
            loader.load_state_dict(wrong)
    assert loader.state_dict() == state
    assert len(list(loader)) == STEPS


def test_a_state_survives_torch_and_pickle(tiny, tmp_path):
    loader = opened(tiny.pack)
    next(iter(loader))
    state = loader.state_dict()
    torch.save({"loader": state}, tmp_path / "checkpoint.pt")
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["loader"] == state
    assert pickle.loads(pickle.dumps(state)) == state
