"""Images of different sizes in one tensor: pad_to=, return_sizes=, T.PadTo."""

import io
import json

import numpy as np
import pytest
import torch
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.files import write

SIZES = [(9, 14), (14, 9), (20, 5), (1, 1), (7, 7), (20, 24), (3, 11), (16, 12), (5, 20), (2, 9)]
LIST = [T.RandomHorizontalFlip(), T.ColorJitter(0.4), T.Normalize(), T.RandomVerticalFlip()]


def picture(number):
    height, width = SIZES[number]
    return np.random.default_rng(number).integers(1, 256, (height, width, 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("sizes")
    for number in range(len(SIZES)):
        file = io.BytesIO()
        Image.fromarray(picture(number)).save(file, "PNG")
        write(made / f"{number % 2}" / f"{number:02}.png", file.getvalue())
    return made


def order(folder):
    """Maps a sample to the number of its picture."""
    return [int(path.stem) for path in sorted(folder.rglob("*.png"))]


def loader(folder, **options):
    given = {"batch_size": 4, "shuffle": True, "seed": 3, "threads": 2, "pad_to": (20, 24)}
    return tundish.Loader(folder, **(given | options))


def batches(loader):
    with loader:
        return [tuple(one.clone() for one in batch) for batch in loader]


def same(a, b):
    return all(
        torch.equal(x, y) for m, n in zip(a, b, strict=True) for x, y in zip(m, n, strict=True)
    )


def test_every_image_is_at_the_top_left_and_its_size_comes_with_it(folder):
    made = loader(folder, return_index=True, return_sizes=True, pad_to_fill=(7, 8, 9))
    seen = 0
    for images, labels, samples, sizes in made:
        assert images.shape == (len(labels), 3, 20, 24)
        assert sizes.dtype == torch.int64
        for image, sample, (height, width) in zip(images, samples, sizes.tolist(), strict=True):
            number = order(folder)[sample]
            assert (height, width) == SIZES[number]
            inside = image[:, :height, :width].permute(1, 2, 0).numpy()
            assert np.array_equal(inside, picture(number))
            rest = torch.ones(20, 24, dtype=torch.bool)
            rest[:height, :width] = False
            assert (image[:, rest] == torch.tensor([[7], [8], [9]])).all()
            seen += 1
    assert seen == len(SIZES)


def test_the_output_of_the_transforms_is_padded(folder):
    """Transforms after Normalize do not move the padding; the padding's level is normalized."""
    given = {"transforms": LIST, "return_index": True, "return_sizes": True, "pad_to_fill": 50}
    zero = T.apply([T.Normalize()], np.full((1, 1, 3), 50, np.uint8))
    for images, _, samples, sizes in loader(folder, **given):
        for image, sample, (height, width) in zip(images, samples, sizes.tolist(), strict=True):
            alone = T.apply(LIST, picture(order(folder)[sample]), seed=3, sample=int(sample))
            assert np.array_equal(image[:, :height, :width].permute(1, 2, 0).numpy(), alone)
            assert (image[:, height:].permute(1, 2, 0).numpy() == zero).all()


def test_the_option_appends_the_pad_to_transform(folder):
    expected = batches(loader(folder, transforms=LIST, pad_to_fill=3))
    alone = loader(folder, transforms=[*LIST, T.PadTo((20, 24), 3)], pad_to=None)
    assert same(expected, batches(alone))


def test_erased_windows_cut_by_a_crop_do_not_extend_into_the_padding():
    erase = T.RandomErasing(p=1, scale=(0.3, 0.9), value=5.0)
    image = np.full((12, 12, 3), 200, np.uint8)
    cut = [T.ToDtype("float32"), erase, T.RandomCrop(6)]
    for sample in range(50):
        inside = T.apply(cut, image, sample=sample)
        padded = T.apply([*cut, T.PadTo(12)], image, sample=sample)
        assert np.array_equal(padded[:6, :6], inside)
        assert not padded[6:].any()
        assert not padded[:, 6:].any()


def test_threads_ranks_and_a_resume_change_nothing(folder):
    given = {"transforms": LIST, "return_sizes": True}
    expected = batches(loader(folder, threads=1, **given))
    assert same(expected, batches(loader(folder, threads=5, **given)))
    assert same(expected, batches(loader(folder, memory="64MiB", cache="decoded", **given)))
    ranks = {"batch_size": 2, "world_size": 2, "uneven": "exact"}
    whole = batches(loader(folder, uneven="exact", **given))
    parts = [batches(loader(folder, rank=rank, **ranks, **given)) for rank in range(2)]
    for number, batch in enumerate(whole):
        for which, tensor in enumerate(batch):
            assert torch.equal(torch.cat([part[number][which] for part in parts]), tensor)
    first = loader(folder, **given)
    next(iter(first))
    second = loader(folder, **given)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert same(expected[1:], batches(second))


def test_a_state_with_another_padding_is_refused(folder):
    state = loader(folder).state_dict()
    with pytest.raises(tundish.Error, match="other transforms"):
        loader(folder, pad_to=30).load_state_dict(state)


def test_a_replay_has_the_sizes(folder):
    made = loader(folder, transforms=LIST, return_sizes=True)
    state = made.state_dict()
    batch = next(iter(made))
    assert same([batch], [made.replay(state).batch])


def test_padding_works_with_views_and_mixing(folder):
    views = [LIST, [T.Resize(10, max_size=20), T.Normalize()]]
    images, _ = next(iter(loader(folder, views=views)))
    assert [tuple(one.shape) for one in images] == [(4, 3, 20, 24)] * 2
    for mixing in (T.MixUp(), T.RandomChoice([T.MixUp(), T.CutMix()])):
        mixed = loader(folder, transforms=[*LIST, mixing], return_sizes=True)
        images, labels, sizes = next(iter(mixed))
        assert images.shape == (4, 3, 20, 24)
        assert labels.shape == (4, 2)
        assert sizes.shape == (4, 2)


def test_padding_works_with_a_schedule_and_without_padding(folder):
    list_ = [T.CenterCrop(T.Schedule({0: 6, 1: (7, 9)})), T.ToDtype("float32", True)]
    made = loader(folder, transforms=list_, pad_to=12, return_sizes=True)
    assert {tuple(s) for _, _, sizes in made for s in sizes.tolist()} == {(6, 6)}
    assert {tuple(s) for _, _, sizes in made for s in sizes.tolist()} == {(7, 9)}
    plain = loader(folder, transforms=[T.CenterCrop((6, 4))], pad_to=None, return_sizes=True)
    assert {tuple(s) for _, _, sizes in plain for s in sizes.tolist()} == {(6, 4)}


def test_a_skipped_sample_has_no_size(folder, tmp_path):
    for path in folder.rglob("*.png"):
        write(tmp_path / path.parent.name / path.name, path.read_bytes())
    sorted(tmp_path.rglob("*.png"))[1].write_bytes(b"no image")
    given = {"shuffle": False, "return_sizes": True, "return_index": True, "on_error": "skip"}
    with pytest.warns(UserWarning, match="bad"):
        images, _, samples, sizes = batches(loader(tmp_path, **given))[0]
    assert samples.tolist() == [0, 2, 3]
    assert [tuple(one) for one in sizes.tolist()] == [SIZES[order(folder)[n]] for n in (0, 2, 3)]
    assert len(images) == 3


def test_sizes_are_delivered_in_a_dict(folder):
    batch = next(iter(loader(folder, as_dict=True, return_sizes=True)))
    assert batch["size"].shape == (4, 2)
    assert batch["image"].shape == (4, 3, 20, 24)


def test_numpy_batches_have_sizes_too(folder):
    images, _, sizes = next(iter(loader(folder, backend="numpy", return_sizes=True)))
    assert isinstance(sizes, np.ndarray)
    assert sizes.shape == (4, 2)
    assert images.shape == (4, 3, 20, 24)


def test_a_larger_image_is_an_error_that_names_both_sizes(folder):
    with pytest.raises(
        ValueError, match=r"24x20 \(width x height\) is larger than the 23x20 .*pad_to"
    ):
        list(loader(folder, pad_to=(20, 23)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pad_to": 0}, "PadTo: size must"),
        ({"pad_to": "large"}, "PadTo: size must"),
        ({"pad_to_fill": 256}, "PadTo: fill must"),
        ({"pad_to": None, "pad_to_fill": 3}, "pad_to_fill needs pad_to"),
        ({"images_as": "list"}, "pad_to contradicts"),
        ({"views": [LIST, LIST], "return_sizes": True}, "leave out views"),
    ],
)
def test_contradictory_options_are_refused(folder, options, message):
    with pytest.raises(ValueError, match=message):
        loader(folder, **options)
