"""Orders other than "every sample once", tested through the whole engine."""

import collections
import itertools
import json

import numpy as np
import pytest
import tundish
from tundish import transforms as T

SIZE = [T.RandomResizedCrop(4), T.RandomHorizontalFlip()]


def opened(path, order, batch_size=8, **options):
    options.setdefault("transforms", SIZE)
    options.setdefault("shuffle", True)
    options.setdefault("threads", 2)
    options.setdefault("seed", 3)
    return tundish.Loader(
        path, batch_size, order=order, return_index=True, backend="numpy", **options
    )


def drawn(loader):
    return [int(i) for *_, index in loader for i in index]


def over_ranks(path, order, world_size, **options):
    """Returns the draws of an epoch in global order."""
    ranks = [
        list(opened(path, order, rank=rank, world_size=world_size, **options))
        for rank in range(world_size)
    ]
    return [int(i) for step in zip(*ranks, strict=True) for *_, index in step for i in index]


def all_orders(count):
    weights = np.arange(count, dtype=float)
    thirds = np.array_split(np.arange(count), 3)
    return [
        tundish.Subset(range(5, 100, 3)),
        tundish.Weighted(weights, draws=150),
        tundish.Balanced(),
        tundish.Balanced(77, of=tundish.Subset(range(0, count, 2))),
        tundish.Mixture([5, 3, 2], groups=thirds, draws=133),
        tundish.Repeated(3),
        tundish.Repeated(2, of=tundish.Weighted(weights), draws=90),
        tundish.Repeated(4, of=tundish.Subset(range(20)), draws=80),
    ]


def test_a_subset_gives_its_samples_once_and_no_other(tiny):
    chosen = [7, 3, 200, 41, 5, 6, 99]
    loader = opened(tiny.pack, tundish.Subset(chosen), batch_size=2)
    assert len(loader) == 4
    assert sorted(drawn(loader)) == sorted(chosen)
    assert drawn(opened(tiny.pack, tundish.Subset(chosen), shuffle=False)) == chosen


def test_weighted_draws_have_the_requested_number_and_samples(tiny):
    weights = np.zeros(tiny.count)
    weights[[4, 9]] = [1, 3]
    loader = opened(tiny.pack, tundish.Weighted(weights, draws=800), shuffle=False)
    counts = collections.Counter(drawn(loader))
    assert set(counts) == {4, 9}
    assert counts.total() == 800
    assert 530 < counts[9] < 670  # mean 600, standard deviation 12
    assert len(drawn(opened(tiny.pack, tundish.Weighted(weights)))) == tiny.count


def test_a_sample_drawn_twice_is_augmented_differently(tiny):
    weights = np.zeros(tiny.count)
    weights[4] = 1
    (batch,) = opened(tiny.pack, tundish.Weighted(weights, draws=8))
    assert len({image.tobytes() for image in batch[0]}) > 4
    (batch,) = opened(tiny.pack, tundish.Repeated(8, of=tundish.Subset([4]), draws=8))
    assert batch[2].tolist() == [4] * 8
    assert len({image.tobytes() for image in batch[0]}) > 4


def test_balanced_classes_come_equally_often_and_their_samples_in_turn(tiny):
    labels = np.array([0] * 300 + [1] * 50 + [2] * (tiny.count - 350))
    loader = opened(tiny.pack, tundish.Balanced(120), labels=labels)
    seen = collections.Counter()
    for _ in range(5):
        epoch = drawn(loader)
        assert collections.Counter(labels[epoch].tolist()) == {0: 40, 1: 40, 2: 40}
        seen.update(epoch)
    small = [n for sample, n in seen.items() if labels[sample] == 1]
    assert len(small) == 50
    assert set(small) == {4}
    assert {n for sample, n in seen.items() if labels[sample] == 0} == {1}


def test_repeats_share_a_global_batch(tiny):
    draws = over_ranks(tiny.pack, tundish.Repeated(3), 2, batch_size=6, uneven="exact")
    assert len(draws) == tiny.count
    groups = [draws[i : i + 3] for i in range(0, tiny.count, 3)]
    assert all(len(set(group)) == 1 for group in groups)
    assert len({group[0] for group in groups}) == len(groups)


def test_a_mixture_of_groups_keeps_its_proportions(tiny):
    groups = [range(10), range(10, 300)]
    loader = opened(tiny.pack, tundish.Mixture([1, 3], groups=groups, draws=80), batch_size=4)
    batches = list(loader)
    assert len(batches) == 20
    for *_, index in batches:
        assert sum(i < 10 for i in index) == 1


@pytest.mark.parametrize("which", range(8))
def test_every_order_is_the_same_for_any_threads_ranks_and_resume_point(tiny, which):
    order = all_orders(tiny.count)[which]
    loader = opened(tiny.pack, order, batch_size=12, uneven="exact")
    expected, states = [], []
    for batch in loader:
        expected.append(batch)
        states.append(loader.state_dict())
    flat = [int(i) for *_, index in expected for i in index]
    assert over_ranks(tiny.pack, order, 3, batch_size=4, uneven="exact") == flat
    middle = len(expected) // 2
    again = opened(tiny.pack, order, batch_size=5, threads=4, uneven="exact")
    again.load_state_dict(json.loads(json.dumps(states[middle])))
    rest = [image.tobytes() for images, *_ in again for image in images]
    assert rest == [i.tobytes() for images, *_ in expected[middle + 1 :] for i in images]


def test_a_state_of_another_order_is_refused_and_both_are_named(tiny):
    orders = all_orders(tiny.count)
    loaders = [opened(tiny.pack, order) for order in orders]
    for one, other in itertools.permutations(loaders, 2):
        with pytest.raises(tundish.Error, match="TND-603") as caught:
            one.load_state_dict(other.state_dict())
        assert other.state_dict()["order"] in str(caught.value)
        assert one.state_dict()["order"] in str(caught.value)


def test_the_state_stays_small_however_long_the_lists(tiny):
    for order in all_orders(tiny.count):
        assert len(json.dumps(opened(tiny.pack, order).state_dict())) < 1000


def test_a_weighted_epoch_is_padded_to_whole_steps(tiny):
    order = tundish.Weighted(np.arange(tiny.count), draws=31)
    assert len(over_ranks(tiny.pack, order, 4, batch_size=2, shuffle=False)) == 32


def test_a_substitute_is_drawn_from_the_order(tiny, tmp_path):
    folder = tmp_path / "set"
    files = sorted(tiny.folder.rglob("*.png"))[:20]
    rows = ["path,label"]
    for number, file in enumerate(files):
        target = folder / f"{number:02}.png"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(b"no image" if number in (3, 4) else file.read_bytes())
        rows.append(f"{target},{number % 2}")
    (tmp_path / "list.csv").write_text("\n".join(rows) + "\n")
    order = tundish.Subset([1, 2, 3, 4, 5])
    loader = opened(tmp_path / "list.csv", order, on_error="substitute")
    with pytest.warns(UserWarning, match="replaced"):
        got = drawn(loader)
    assert len(got) == 5
    assert set(got) == {1, 2, 5}
    loader = opened(tmp_path / "list.csv", tundish.Balanced(40), on_error="substitute")
    with pytest.warns(UserWarning, match="replaced"):
        got = drawn(loader)
    assert collections.Counter(i % 2 for i in got) == {0: 20, 1: 20}


def test_loaders_with_an_order_can_be_pickled(tiny):
    import pickle

    loader = opened(tiny.pack, tundish.Repeated(2, of=tundish.Subset(range(9))))
    assert drawn(pickle.loads(pickle.dumps(loader))) == drawn(loader)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (lambda: tundish.Subset([]), "at least one"),
        (lambda: tundish.Subset([-1]), "sample numbers"),
        (lambda: tundish.Subset([1.5]), "sample numbers"),
        (lambda: tundish.Subset([1, 1]), "sample 1 is given twice"),
        (lambda: tundish.Subset([10**6]), r"there is no sample 1,000,000"),
        (lambda: tundish.Weighted([1, 2]), r"2 weights for 355 samples"),
        (lambda: tundish.Weighted([0.0] * 355), "all weights are 0"),
        (lambda: tundish.Weighted([float("nan")] * 355), "weight 0 must be 0 or more"),
        (lambda: tundish.Balanced(0), "draws must be a whole number of at least 1"),
        (lambda: tundish.Balanced(of=[1, 2]), "takes a Subset"),
        (lambda: tundish.Mixture([1, 1]), "2 weights for 1 paths"),
        (lambda: tundish.Mixture([1, 1], groups=[[1], [2], [3]]), "2 weights for 3 groups"),
        (lambda: tundish.Mixture([1, -1], groups=[[1], [2]]), "must be above 0"),
        (lambda: tundish.Mixture([1, 1], groups=[[1], [1]]), "sample 1 is given twice"),
        (lambda: tundish.Repeated(0), "times must be a whole number of at least 1"),
        (lambda: tundish.Repeated(2, of=tundish.Repeated(2)), "takes Subset, Weighted"),
        (lambda: "shuffled", "is not an order"),
    ],
)
def test_an_invalid_order_is_refused(tiny, order, message):
    with pytest.raises((ValueError, TypeError), match=message):
        opened(tiny.pack, order())


def test_balanced_needs_labels(tiny):
    labels = np.zeros(tiny.count, int)
    labels[17] = -1
    with pytest.raises(tundish.ArgumentError, match="sample 17 has no label"):
        opened(tiny.pack, tundish.Balanced(), labels=labels)


# --- several paths in one loader --------------------------------------------------------------


@pytest.fixture(scope="module")
def two_sets(photos, tmp_path_factory, make):
    """The photos, and another set with the same classes."""
    root = tmp_path_factory.mktemp("second")
    for number in range(9):
        name = ("bird", "cat", "dog")[number % 3]
        make.write(root / "folder" / name / f"{number}.jpg", make.jpeg(50 + number, 40, 30))
    return photos.pack, make.pack(root / "folder", root / "second.tnd")


def test_several_paths_are_concatenated(two_sets):
    first, second = (tundish.Dataset(path) for path in two_sets)
    loader = tundish.Loader(list(two_sets), 1, return_index=True, backend="numpy")
    pixels = [images[0].transpose(1, 2, 0) for images, *_ in loader]
    labels = [int(labels[0]) for _, labels, _ in loader]
    expected = [first[i] for i in range(len(first))] + [second[i] for i in range(len(second))]
    assert labels == [label for _, label in expected]
    for ours, (theirs, _) in zip(pixels, expected, strict=True):
        assert np.array_equal(ours, theirs)
    assert len(loader.dataset) == len(first) + len(second)
    assert np.array_equal(loader.dataset[len(first)][0], second[0][0])


def test_a_mixture_draws_from_several_packs_in_proportion(two_sets):
    order = tundish.Mixture([1, 3], draws=40)
    loader = opened(list(two_sets), order, batch_size=4)
    count = len(tundish.Dataset(two_sets[0]))
    batches = list(loader)
    assert len(batches) == 10
    for *_, index in batches:
        assert sum(i < count for i in index) == 1
    with pytest.raises(ValueError, match="3 weights for 2 paths"):
        opened(list(two_sets), tundish.Mixture([1, 1, 1]))


def test_packs_whose_classes_differ_are_not_joined(two_sets, tiny):
    with pytest.raises(tundish.ArgumentError, match=r"cannot be joined.*class 0 is"):
        tundish.Loader([two_sets[0], tiny.pack])
