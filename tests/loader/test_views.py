"""Several images per sample: views=, FiveCrop and TenCrop."""

import json

import numpy as np
import pytest
import torch
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.small_set import make_folder
from tests.helpers.torchvision_child import ask_torchvision

GLOBAL = [T.RandomResizedCrop(12, scale=(0.4, 1.0)), T.RandomHorizontalFlip(), T.Normalize()]
SOLAR = [T.RandomResizedCrop(12, scale=(0.4, 1.0)), T.RandomSolarize(128, p=0.5), T.Normalize()]
LOCAL = [T.RandomResizedCrop(6, scale=(0.05, 0.4)), T.ColorJitter(0.4, 0.4, 0.4, 0.1)]
VIEWS = [GLOBAL, SOLAR, LOCAL, LOCAL]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("views"), 11, 30)


def loader(folder, **options):
    return tundish.Loader(
        folder, **({"batch_size": 4, "shuffle": True, "seed": 3, "threads": 2} | options)
    )


def epoch(loader):
    with loader:
        return [([view.clone() for view in views], labels) for views, labels in loader]


def same(a, b):
    return all(
        all(torch.equal(x, y) for x, y in zip(mine, theirs, strict=True)) and torch.equal(k, m)
        for (mine, k), (theirs, m) in zip(a, b, strict=True)
    )


def test_each_view_has_its_own_size_type_and_draws(folder):
    (views, labels), *_ = epoch(loader(folder, views=VIEWS))
    assert [tuple(view.shape) for view in views] == [(4, 3, 12, 12)] * 2 + [(4, 3, 6, 6)] * 2
    assert [view.dtype for view in views] == [torch.float32] * 2 + [torch.uint8] * 2
    assert labels.shape == (4,)
    assert not torch.equal(views[2], views[3])
    assert views[0].is_contiguous(memory_format=torch.channels_last)


def test_the_first_view_is_what_transforms_gives(folder):
    alone = loader(folder, transforms=GLOBAL)
    for (views, labels), (images, their_labels) in zip(
        epoch(loader(folder, views=VIEWS)), alone, strict=True
    ):
        assert torch.equal(views[0], images)
        assert torch.equal(labels, their_labels)


def test_every_view_is_what_apply_gives(folder):
    made = loader(folder, views=VIEWS, shuffle=False, return_index=True)
    for views, _, samples in made:
        for row, sample in enumerate(samples.tolist()):
            picture = np.asarray(Image.open(sorted(folder.rglob("*.png"))[sample]))
            for number, transforms in enumerate(VIEWS):
                expected = T.apply(transforms, picture, seed=3, sample=sample, view=number)
                assert np.array_equal(views[number][row].permute(1, 2, 0).numpy(), expected)


def test_threads_ranks_and_a_resume_change_nothing(folder):
    expected = epoch(loader(folder, views=VIEWS, threads=1))
    assert same(expected, epoch(loader(folder, views=VIEWS, threads=5)))
    parts = [
        epoch(loader(folder, views=VIEWS, batch_size=2, world_size=2, rank=rank, uneven="exact"))
        for rank in range(2)
    ]
    whole = epoch(loader(folder, views=VIEWS, uneven="exact"))
    for number, (views, labels) in enumerate(whole):
        for v, view in enumerate(views):
            assert torch.equal(torch.cat([part[number][0][v] for part in parts]), view)
        assert torch.equal(torch.cat([part[number][1] for part in parts]), labels)
    first = loader(folder, views=VIEWS)
    next(iter(first))
    second = loader(folder, views=VIEWS)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert same(expected[1:], epoch(second))


def test_a_replay_has_all_views_and_their_plans(folder):
    made = loader(folder, views=VIEWS)
    state = made.state_dict()
    views, labels = next(iter(made))
    again = made.replay(state)
    assert same([(views, labels)], [again.batch])
    assert all(len(plan["views"]) == 4 for plan in again.plans)


def test_views_work_with_a_budget_and_a_cache(folder):
    expected = epoch(loader(folder, views=VIEWS))
    for cache in (None, "encoded", "decoded"):
        assert same(expected, epoch(loader(folder, views=VIEWS, memory="64MiB", cache=cache)))


def test_a_skipped_sample_is_left_out_of_every_view(tmp_path):
    folder = make_folder(tmp_path / "set", 4, 30)
    expected = epoch(loader(folder, views=VIEWS, shuffle=False))[0][0]
    sorted(folder.rglob("*.png"))[1].write_bytes(b"no image")
    with pytest.warns(UserWarning, match="no image|unknown|format"):
        views, _ = epoch(loader(folder, views=VIEWS, shuffle=False, on_error="skip"))[0]
    for view, whole in zip(views, expected, strict=True):
        assert torch.equal(view, whole[[0, 2, 3]])


def test_views_are_delivered_in_a_dict(folder):
    batch = next(iter(loader(folder, views=VIEWS, as_dict=True)))
    assert isinstance(batch["image"], list)
    assert len(batch["image"]) == 4


_CROPS = """
import numpy as np
from PIL import Image
from torchvision.transforms import v2
out = {}
for crop in eval(sys.argv[2]):
    for number, path in enumerate(eval(sys.argv[1])):
        crops = eval("v2." + crop)(Image.open(path))
        out[f"{crop} {number}"] = np.stack([np.asarray(one) for one in crops])
np.savez(sys.argv[3], **out)
"""
CROPS = ["FiveCrop(13)", "FiveCrop((9, 14))", "TenCrop(12)", "TenCrop((7, 12), vertical_flip=True)"]


def test_crops_equal_torchvisions(folder, tmp_path):
    paths = sorted(folder.rglob("*.png"))[:3]
    ask_torchvision(_CROPS, repr(list(map(str, paths))), repr(CROPS), tmp_path / "crops.npz")
    with np.load(tmp_path / "crops.npz") as theirs:
        for crop in CROPS:
            made = loader(folder, transforms=[eval("T." + crop)], shuffle=False)
            images = torch.cat([images for images, _ in made])
            for number in range(3):
                expected = theirs[f"{crop} {number}"]
                assert images.shape[1] == len(expected)
                assert np.array_equal(images[number].permute(0, 2, 3, 1).numpy(), expected), crop


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"views": VIEWS, "transforms": GLOBAL}, "contradict"),
        (
            {"views": [GLOBAL, [T.RandomHorizontalFlip()]]},
            r"views\[1\] must give every image the same size",
        ),
        ({"views": [GLOBAL, [T.FiveCrop(8)]]}, "FiveCrop"),
        ({"views": [[*GLOBAL, T.MixUp()]]}, "MixUp"),
        ({"transforms": [T.FiveCrop(8), T.TenCrop(4)]}, "cannot follow FiveCrop"),
        ({"transforms": [T.RandomApply([T.FiveCrop(8)])]}, "cannot hold FiveCrop"),
        ({"views": [GLOBAL] * 65}, "at most 64"),
    ],
)
def test_contradictory_options_are_refused(folder, options, message):
    with pytest.raises(ValueError, match=message):
        loader(folder, **options)


def test_a_flat_list_of_views_is_refused(folder):
    with pytest.raises(TypeError, match="one list per view"):
        loader(folder, views=GLOBAL)


def test_an_image_smaller_than_its_crops_is_reported(folder):
    with pytest.raises(ValueError, match="larger than the image"):
        next(iter(loader(folder, transforms=[T.FiveCrop(99)], on_error="fail")))
