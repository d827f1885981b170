"""T.Schedule: a size that changes with the epoch."""

import json

import numpy as np
import pytest
import torch
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.small_set import make_folder

SIZES = T.Schedule({0: 8, 2: (10, 12), 3: 16})
SHAPES = [(8, 8), (8, 8), (10, 12), (16, 16), (16, 16)]  # by epoch
LIST = [T.RandomResizedCrop(SIZES, scale=(0.4, 1.0)), T.RandomHorizontalFlip(), T.Normalize()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("schedule"), 11, 30)


def loader(folder, **options):
    given = {"batch_size": 4, "shuffle": True, "seed": 3, "threads": 2, "transforms": LIST}
    return tundish.Loader(folder, **(given | options))


def epochs(loader, count):
    """Returns all batches, by epoch."""
    with loader:
        return [[(one.clone(), labels.clone()) for one, labels in loader] for _ in range(count)]


def same(a, b):
    return all(
        torch.equal(x, y) and torch.equal(k, m)
        for mine, theirs in zip(a, b, strict=True)
        for (x, k), (y, m) in zip(mine, theirs, strict=True)
    )


def test_prefetched_batches_have_the_size_of_their_epoch(folder):
    made = epochs(loader(folder, prefetch=8), 5)
    assert [{tuple(one.shape[2:]) for one, _ in epoch} for epoch in made] == [{s} for s in SHAPES]


@pytest.mark.parametrize(
    "scheduled",
    [
        lambda size: [T.RandomResizedCrop(size)],
        lambda size: [T.Resize(size)],
        lambda size: [T.Resize(size), T.CenterCrop(size)],
        lambda size: [T.RandomCrop(size, padding=2)],
        lambda size: [T.CenterCropOrPad(size)],
        lambda size: [T.RandomCropOrPad(size)],
        lambda size: [T.FiveCrop(size)],
        lambda size: [T.TenCrop(size)],
    ],
)
def test_an_epoch_equals_a_run_with_its_size_alone(folder, scheduled):
    made = epochs(loader(folder, transforms=scheduled(SIZES)), 4)
    for epoch, size in enumerate(SHAPES[:4]):
        alone = loader(folder, transforms=scheduled(size))
        alone.set_epoch(epoch)
        assert same([made[epoch]], epochs(alone, 1))


def test_threads_ranks_and_a_resume_change_nothing(folder):
    expected = epochs(loader(folder, threads=1), 4)
    assert same(expected, epochs(loader(folder, threads=5, prefetch=9), 4))
    assert same(expected, epochs(loader(folder, memory="64MiB", cache="decoded"), 4))
    whole = epochs(loader(folder, uneven="exact"), 4)
    ranks = {"batch_size": 2, "world_size": 2, "uneven": "exact"}
    parts = [epochs(loader(folder, rank=rank, **ranks), 4) for rank in range(2)]
    for epoch, batches in enumerate(whole):
        for number, (images, _) in enumerate(batches):
            together = torch.cat([part[epoch][number][0] for part in parts])
            assert torch.equal(together, images)
    for epoch in range(4):
        first = loader(folder)
        first.set_epoch(epoch)
        next(iter(first))
        second = loader(folder)
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        assert same([expected[epoch][1:], *expected[epoch + 1 :]], epochs(second, 4 - epoch))


def test_a_replay_has_the_size_of_its_epoch(folder):
    made = loader(folder)
    made.set_epoch(2)
    state = made.state_dict()
    images, labels = next(iter(made))
    again = made.replay(state)
    assert same([[(images, labels)]], [[again.batch]])
    assert all(plan["size"] == [12, 10] for plan in again.plans)


def test_apply_and_plan_take_the_epoch(folder):
    made = loader(folder, shuffle=False, return_index=True)
    made.set_epoch(2)
    images, _, samples = next(iter(made))
    for row, sample in enumerate(samples.tolist()):
        picture = np.asarray(Image.open(sorted(folder.rglob("*.png"))[sample]))
        expected = T.apply(LIST, picture, seed=3, epoch=2, sample=sample)
        assert np.array_equal(images[row].permute(1, 2, 0).numpy(), expected)
    assert T.plan(LIST, (30, 30), epoch=1)["size"] == [8, 8]


def test_a_schedule_works_with_views_and_mixing(folder):
    views = [LIST, [T.RandomResizedCrop(T.Schedule({0: 4, 1: 6})), T.ToDtype("float16", True)]]
    made = epochs_of_views(loader(folder, transforms=[], views=views), 3)
    assert made == [[(8, 8), (4, 4)], [(8, 8), (6, 6)], [(10, 12), (6, 6)]]
    mixed = [*LIST, T.RandomChoice([T.MixUp(), T.CutMix()])]
    one = epochs(loader(folder, transforms=mixed, threads=1), 4)
    assert [{tuple(x.shape[2:]) for x, _ in epoch} for epoch in one] == [{s} for s in SHAPES[:4]]
    assert same(one, epochs(loader(folder, transforms=mixed, threads=5), 4))
    crop = T.RandomResizedCrop(SHAPES[3], scale=(0.4, 1.0))
    alone = loader(folder, transforms=[crop, *mixed[1:]])
    alone.set_epoch(3)
    assert same([one[3]], epochs(alone, 1))  # CutMix boxes have the epoch's size, too


def epochs_of_views(loader, count):
    with loader:
        return [[tuple(view.shape[2:]) for view in next(iter(loader))[0]] for _ in range(count)]


def test_memory_is_reserved_for_the_largest_size(folder):
    large = [T.Resize(T.Schedule({0: (16, 16), 7: (2000, 2000)})), T.Normalize()]
    with pytest.raises(ValueError, match="6 batches of 4 x 48,000,000 bytes"):
        loader(folder, transforms=large, memory="64MiB")
    small = [T.Resize(T.Schedule({0: (16, 16), 7: (20, 20)})), T.Normalize()]
    assert epochs(loader(folder, transforms=small, memory="64MiB"), 1)


def test_a_state_of_another_schedule_is_refused(folder):
    state = loader(folder).state_dict()
    other = loader(folder, transforms=[T.RandomResizedCrop(T.Schedule({0: 8, 2: 10})), *LIST[1:]])
    with pytest.raises(tundish.Error, match="other transforms"):
        other.load_state_dict(state)


def test_a_schedule_survives_json():
    assert T.to_json(T.from_json(T.to_json(LIST))) == T.to_json(LIST)
    assert T.from_json(T.to_json(LIST))[0].size.sizes == {0: 8, 2: [10, 12], 3: 16}
    text = json.loads(T.to_json([T.CenterCrop(SIZES)]))[0]["size"]
    assert text == {"0": 8, "2": [10, 12], "3": 16}
    assert T.Schedule({5: 3, 0: 2}) == T.Schedule({0: 2, 5: 3})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.Schedule({5: 8}), r"epoch 0 is missing: write T.Schedule\(\{0: 128, 5: 8\}\)"),
        (lambda: T.Schedule({9: 8, 5: 4}), r"write T.Schedule\(\{0: 128, 5: 4, ...\}\)"),
        (lambda: T.Schedule({}), r"write T.Schedule\(\{0: 128\}\)"),
        (lambda: T.Schedule({0: 8, -1: 9}), "epochs must be 0 or later, not -1"),
        (lambda: T.from_json('[{"name": "Resize", "size": {"x": 8}}]'), "written as"),
        (lambda: T.plan([T.CenterCrop(T.Schedule({0: 8, 1: 0}))], (9, 9)), "CenterCrop: size must"),
        (lambda: T.plan([T.CenterCrop(T.Schedule({0: "8"}))], (9, 9)), "CenterCrop: size must"),
        (lambda: T.plan([T.ResizeKeepRatio(SIZES)], (9, 9)), "ResizeKeepRatio: size must"),
        (lambda: T.plan([T.RandomApply([T.Resize(SIZES)])], (9, 9)), "cannot hold Resize with a Sch"),
        (lambda: T.plan([T.Resize(T.Schedule({0: 8, 1: 30}), max_size=20)], (9, 9)), "max_size must"),
        (
            lambda: T.plan([T.CenterCrop(T.Schedule({n: 8 + n for n in range(200)})),
                            T.CenterCrop(T.Schedule(dict.fromkeys(range(0, 400, 2), 8)))], (9, 9)),
            "at most 256",
        ),
    ],
)  # fmt: skip
def test_an_invalid_schedule_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_schedule_with_only_epoch_0_equals_its_size_in_containers(folder):
    plain, scheduled = 8, T.Schedule({0: 8})
    states = []
    for size in (plain, scheduled):
        given = [T.RandomApply([T.RandomCrop(size, padding=4)], p=1), T.CenterCrop(6)]
        states.append(loader(folder, transforms=given).state_dict())
        assert T.plan(given, (9, 9))["size"] == [6, 6]
    assert states[0] == states[1]


def test_a_schedule_that_is_not_a_dict_is_named():
    with pytest.raises(TypeError, match="a dict of sizes by epoch"):
        T.Schedule([128, 160])


def test_views_that_have_no_fixed_size_in_one_epoch_are_refused(folder):
    views = [LIST, [T.Resize(T.Schedule({0: (8, 8), 4: 9}))]]
    with pytest.raises(ValueError, match="must give every image the same size"):
        loader(folder, transforms=[], views=views)
