"""MixUp, CutMix and timm's Mixup against torchvision and timm, over ranks, threads and resumes."""

import json

import pytest
import torch
import tundish
from tundish import transforms as T

from tests.helpers.small_set import make_folder
from tests.helpers.torchvision_child import ask_torchvision

SEEN = [T.RandomResizedCrop(12), T.RandomHorizontalFlip(), T.Normalize()]
MIXES = {
    "mixup": T.MixUp(alpha=0.8),
    "cutmix": T.CutMix(),
    "choice": T.RandomChoice([T.MixUp(), T.CutMix()]),
    "maybe": T.RandomApply([T.MixUp()], p=0.5),
    "timm": T.TimmMixup(cutmix_alpha=1.0, label_smoothing=0.0),
    "timm smooth": T.TimmMixup(mixup_alpha=0.8, cutmix_alpha=1.0, prob=0.7),
    "timm elem": T.TimmMixup(cutmix_alpha=1.0, mode="elem"),
    "timm pair": T.TimmMixup(cutmix_minmax=(0.2, 0.8), mode="pair"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("mix"), 22, 16)


def loader(folder, *mixing, erases=False, **options):
    more = [T.RandomErasing(value="random", p=0.9)] if erases else []
    options = {"batch_size": 8, "shuffle": True, "seed": 5, "threads": 2} | options
    return tundish.Loader(folder, transforms=[*SEEN, *more, *mixing], **options)


def batches(loader):
    with loader:
        return [(images.clone(), labels) for images, labels in loader]


def plans_of(loader):
    """Returns the mixing entries of the first batch's plans."""
    return [plan.get("mix") for plan in loader.replay(loader.state_dict()).plans]


@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("erases", [False, True])
def test_a_batch_is_what_its_plans_say(folder, name, erases):
    mixing = MIXES[name]
    (plain, labels), *_ = batches(loader(folder, erases=erases))
    mixed_loader = loader(folder, mixing, erases=erases)
    plans = plans_of(mixed_loader)
    (images, soft), *_ = batches(mixed_loader)
    assert soft.shape == (8, 2)
    assert soft.dtype == torch.float32
    smoothing = getattr(mixing, "label_smoothing", 0.0)
    off = smoothing / 2
    on = 1.0 - smoothing + off
    hard = torch.full((8, 2), off).scatter_(1, labels[:, None], on)
    pair = getattr(mixing, "mode", "") == "pair"
    for number, plan in enumerate(plans):
        if plan is None:
            assert torch.equal(images[number], plain[number])
            assert torch.equal(soft[number], hard[number])
            continue
        partner = number ^ 1 if pair else (number - 1) % 8
        share, expected = plan["share"], plain[number].clone()
        if "box" in plan:
            x, y, width, height = plan["box"]
            box = (slice(None), slice(y, y + height), slice(x, x + width))
            expected[box] = plain[partner][box]
        else:
            expected = plain[partner].mul(1.0 - share).add(plain[number].mul(share))
        assert torch.equal(images[number], expected)
        assert torch.equal(soft[number], hard[number] * share + hard[partner] * (1.0 - share))
    if name in ("mixup", "cutmix", "choice", "timm"):
        assert all(plan is not None for plan in plans)
        assert not torch.equal(images, plain)


_TORCHVISION = """
import json, torch
from torchvision.transforms import v2
batch = torch.load(sys.argv[1])
plan, classes = json.loads(sys.argv[2]), 2
if "box" in plan:
    x, y, w, h = plan["box"]
    mix, params = v2.CutMix(num_classes=classes), dict(box=(x, y, x + w, y + h), lam_adjusted=plan["share"])
else:
    mix, params = v2.MixUp(num_classes=classes), dict(lam=plan["share"])
mix.make_params = lambda _: params
torch.save(mix(batch["images"], batch["labels"]), sys.argv[1])
"""


@pytest.mark.parametrize("name", ["mixup", "cutmix"])
def test_torchvision_gives_the_same_bits(folder, name, tmp_path):
    (plain, labels), *_ = batches(loader(folder))
    mixed = loader(folder, MIXES[name])
    plan = plans_of(mixed)[0]
    torch.save({"images": plain, "labels": labels}, tmp_path / "batch.pt")
    ask_torchvision(_TORCHVISION, tmp_path / "batch.pt", json.dumps(plan))
    images, soft = torch.load(tmp_path / "batch.pt")
    (ours, our_labels), *_ = batches(mixed)
    assert torch.equal(ours, images)
    assert torch.equal(our_labels, soft)


@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("world", [2, 3])
def test_several_ranks_get_the_mixes_of_one_rank(folder, name, world):
    whole = batches(loader(folder, MIXES[name], batch_size=6, uneven="exact"))
    parts = [
        batches(
            loader(
                folder,
                MIXES[name],
                batch_size=6 // world,
                world_size=world,
                rank=rank,
                uneven="exact",
            )
        )
        for rank in range(world)
    ]
    for number, (images, labels) in enumerate(whole):
        assert torch.equal(torch.cat([part[number][0] for part in parts]), images)
        assert torch.equal(torch.cat([part[number][1] for part in parts]), labels)


@pytest.mark.parametrize("name", MIXES)
def test_threads_and_a_resume_change_nothing(folder, name):
    options = {"erases": True}
    expected = batches(loader(folder, MIXES[name], **options, threads=1))
    assert len(expected) == 3
    for threads in (2, 5):
        for (a, b), (c, d) in zip(
            expected, batches(loader(folder, MIXES[name], **options, threads=threads)), strict=True
        ):
            assert torch.equal(a, c)
            assert torch.equal(b, d)
    first = loader(folder, MIXES[name], **options)
    next(iter(first))
    state = json.loads(json.dumps(first.state_dict()))
    second = loader(folder, MIXES[name], **options)
    second.load_state_dict(state)
    for (a, b), (c, d) in zip(expected[1:], batches(second), strict=True):
        assert torch.equal(a, c)
        assert torch.equal(b, d)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("memory_format", ["channels_last", "contiguous"])
def test_other_types_are_rounded_once(folder, dtype, memory_format):
    for mixing in (T.MixUp(), T.CutMix()):
        (wide, _), *_ = batches(loader(folder, mixing))
        transforms = [*SEEN, T.ToDtype(dtype), mixing]
        narrow = tundish.Loader(
            folder,
            batch_size=8,
            shuffle=True,
            seed=5,
            transforms=transforms,
            memory_format=memory_format,
        )
        (images, _), *_ = batches(narrow)
        assert torch.equal(images, wide.to(getattr(torch, dtype)))


def test_a_skipped_sample_leaves_its_neighbor_unmixed(tmp_path):
    folder = make_folder(tmp_path / "set", 8, 16)
    options = {"shuffle": False, "batch_size": 8}
    (plain, _), *_ = batches(loader(folder, **options))
    broken = sorted(folder.rglob("*.png"))[3]
    broken.write_bytes(b"no image")
    with pytest.warns(UserWarning, match="no image|unknown|format"):
        (images, labels), *_ = batches(loader(folder, T.MixUp(), **options, on_error="skip"))
    assert images.shape[0] == 7
    assert labels.shape == (7, 2)
    assert torch.equal(images[3], plain[4])  # the partner was skipped
    assert sorted(labels[3].tolist()) == [0.0, 1.0]
    assert not torch.equal(images[4], plain[5])


def test_a_batch_of_one_is_not_mixed(folder):
    (plain, _), *_ = batches(loader(folder, batch_size=1))
    (images, labels), *_ = batches(loader(folder, T.MixUp(), batch_size=1))
    assert torch.equal(images, plain)
    assert sorted(labels[0].tolist()) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("transforms", "message"),
    [
        ([T.Resize((8, 8)), T.MixUp()], "float images"),
        ([T.Normalize(), T.MixUp(), T.RandomHorizontalFlip()], "last transform"),
        ([T.Normalize(), T.MixUp()], "same size"),
        ([T.Resize((8, 8)), T.Normalize(), T.MixUp(alpha=0)], "positive"),
        ([T.Resize((8, 8)), T.Normalize(), T.MixUp(num_classes=1)], "labels from 0 to 0"),
        (
            [
                T.Resize((8, 8)),
                T.Normalize(),
                T.RandomChoice([T.MixUp(num_classes=5), T.CutMix(num_classes=6)]),
            ],
            "num_classes",
        ),
        ([T.Resize((8, 8)), T.Normalize(), T.RandomOrder([T.MixUp(), T.CutMix()])], "mixed once"),
        (
            [
                T.Resize((8, 8)),
                T.Normalize(),
                T.RandomChoice([T.MixUp(), T.RandomHorizontalFlip()]),
            ],
            "works on batches",
        ),
        ([T.Resize((8, 8)), T.Normalize(), T.TimmMixup(mixup_alpha=0)], "mixup_alpha"),
        ([T.FiveCrop(8), T.Normalize(), T.MixUp()], "FiveCrop"),
    ],
)
def test_contradictory_options_are_refused(folder, transforms, message):
    with pytest.raises(ValueError, match=message):
        tundish.Loader(folder, transforms=transforms)


def test_data_without_labels_are_refused(tmp_path):
    folder = make_folder(tmp_path / "set", 4, 16)
    labels = [-1, 0, 1, 0]
    with pytest.raises(ValueError, match="label of sample 0 is -1"):
        tundish.Loader(
            folder, transforms=[T.Resize((8, 8)), T.Normalize(), T.MixUp()], labels=labels
        )
