"""images_as="list": images of different sizes, unchanged."""

import io
import json

import numpy as np
import pytest
import torch
import tundish
from PIL import Image
from tundish import transforms as T
from tundish._c.errors import last_error
from tundish._c.library import lib
from tundish._c.structs import LoaderLists
from tundish.data.open_source import Source

from tests.helpers.files import write
from tests.helpers.program import needs_program, result_json

LIST = [T.RandomShortestSize((8, 11, 14), 25), T.RandomHorizontalFlip(), T.Normalize()]


def picture(number):
    rng = np.random.default_rng(number)
    return rng.integers(0, 256, (*rng.integers(3, 40, 2), 3)).astype(np.uint8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("sizes")
    for number in range(11):
        file = io.BytesIO()
        Image.fromarray(picture(number)).save(file, "PNG")
        write(made / f"{number:02}" / "a.png", file.getvalue())
    return made


def loader(folder, **options):
    given = {"batch_size": 4, "shuffle": True, "seed": 3, "threads": 2, "transforms": LIST}
    return tundish.Loader(folder, **(given | {"images_as": "list"} | options))


def batches(loader, epochs=2):
    with loader:
        return [
            ([one.clone() for one in images], labels.clone())
            for _ in range(epochs)
            for images, labels in loader
        ]


def same(a, b):
    return all(
        all(torch.equal(x, y) for x, y in zip(mine, theirs, strict=True)) and torch.equal(k, m)
        for (mine, k), (theirs, m) in zip(a, b, strict=True)
    )


@pytest.mark.parametrize("memory_format", ["channels_last", "contiguous"])
@pytest.mark.parametrize("transforms", [LIST, [], [T.ToDtype("float16", True)]])
def test_every_image_is_what_apply_gives(folder, memory_format, transforms):
    given = {"return_index": True, "return_sizes": True, "memory_format": memory_format}
    seen = []
    for images, labels, samples, sizes in loader(folder, transforms=transforms, **given):
        assert isinstance(images, list)
        for image, label, sample, size in zip(images, labels, samples, sizes, strict=True):
            expected = T.apply(transforms, picture(int(label)), seed=3, sample=int(sample))
            assert np.array_equal(image.permute(1, 2, 0).numpy(), expected)
            assert list(image.shape[1:]) == size.tolist()
            assert image.is_contiguous() == (memory_format == "contiguous")
            seen.append(int(sample))
    assert sorted(seen) == list(range(11))


def test_threads_ranks_and_a_resume_change_nothing(folder):
    expected = batches(loader(folder, threads=1))
    assert len({tuple(one.shape) for one in expected[0][0]}) > 1
    assert same(expected, batches(loader(folder, threads=5, prefetch=7)))
    for cache in (None, "encoded", "decoded"):
        assert same(expected, batches(loader(folder, memory="64MiB", cache=cache)))
    whole = batches(loader(folder, uneven="exact"))
    ranks = {"batch_size": 2, "world_size": 2, "uneven": "exact"}
    parts = [batches(loader(folder, rank=rank, **ranks)) for rank in range(2)]
    for number, (images, labels) in enumerate(whole):
        both = [part[number] for part in parts]
        assert same(
            [(images, labels)], [(both[0][0] + both[1][0], torch.cat([both[0][1], both[1][1]]))]
        )
    first = loader(folder)
    next(iter(first))
    second = loader(folder)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert same(expected[1:], batches(second))


def test_images_are_not_overwritten_while_the_loop_has_them(folder):
    made = loader(folder, prefetch=1)
    expected = batches(loader(folder), epochs=5)
    kept = [batch for _ in range(5) for batch in made]
    made.close()
    assert same(expected, kept)


def test_a_replay_gives_the_same_list(folder):
    made = loader(folder)
    state = made.state_dict()
    batch = next(iter(made))
    again = made.replay(state)
    assert same([batch], [again.batch])
    assert [plan["size"][::-1] for plan in again.plans] == [list(x.shape[1:]) for x in batch[0]]


@needs_program
def test_the_program_replays_a_list(folder, tmp_path):
    made = loader(folder)
    next(iter(made))
    write(tmp_path / "state.json", json.dumps(made.state_dict()).encode())
    sheet = tmp_path / "sheet.png"
    given = ("view", folder, "--state", tmp_path / "state.json", "-o", sheet)
    assert result_json(*given)["samples"] == made.replay(made.state_dict()).plans
    with Image.open(sheet) as drawn:
        assert drawn.width > 25


@pytest.mark.parametrize("on_error", ["skip", "substitute"])
def test_bad_samples_are_left_out_or_replaced(folder, tmp_path, on_error):
    for path in folder.rglob("*.png"):
        write(tmp_path / path.parent.name / path.name, path.read_bytes())
    sorted(tmp_path.rglob("*.png"))[1].write_bytes(b"no image")
    given = {"shuffle": False, "on_error": on_error}
    expected = batches(loader(folder, **given), 1)
    with pytest.warns(UserWarning, match="bad"):
        made = batches(loader(tmp_path, **given), 1)
    keep = [0, 2, 3]
    if on_error == "substitute":
        assert [len(images) for images, _ in made] == [4, 4, 3]
        made[0] = ([made[0][0][n] for n in keep], made[0][1][keep])
    expected[0] = ([expected[0][0][n] for n in keep], expected[0][1][keep])
    assert same(expected, made)


def test_the_budget_holds_for_the_largest_image(folder):
    with pytest.raises(tundish.Error, match="TND-605"):
        batches(loader(folder, transforms=[T.RandomResize(1500, 1600)], memory="48MiB"))


def test_lists_work_in_a_dict_and_as_arrays(folder):
    batch = next(iter(loader(folder, as_dict=True)))
    assert isinstance(batch["image"], list)
    images, _ = next(iter(loader(folder, backend="numpy")))
    assert all(isinstance(one, np.ndarray) and one.ndim == 3 for one in images)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"images_as": "tuple"}, "images_as must be one of tensor, list"),
        ({"transforms": [], "views": [[T.CenterCrop(8)]]}, "cannot have views"),
        ({"transforms": [T.FiveCrop(2)]}, "FiveCrop"),
        ({"transforms": [*LIST, T.MixUp()]}, "MixUp"),
        ({"pad_to": 50}, "pad_to contradicts"),
        ({"pin_memory": True}, "leave out pin_memory"),
    ],
)
def test_contradictory_options_are_refused(folder, options, message):
    with pytest.raises(ValueError, match=message):
        loader(folder, **options)


def test_a_gpu_is_refused_with_an_alternative(folder):
    """Calls the engine directly, because device= fails earlier on a machine without a GPU."""
    text = json.dumps({"images_as": "list", "for_gpu": True}).encode()
    assert not lib.tundish_loader_new(Source(folder, None).handle, text, LoaderLists())
    assert "pad_to=(height, width)" in str(last_error())
