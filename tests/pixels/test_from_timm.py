"""T.from_timm translates timm.data.create_transform() to a list with the same pixels."""

import json
import types
from pathlib import Path

import numpy as np
import pytest
import tundish
from tundish import transforms as T

from tests.helpers.torchvision_child import ask_torchvision

_CHILD = """
import json
import timm
from tundish import transforms as T

def answer(arguments):
    try:
        return repr(T.from_timm(timm.data.create_transform(**arguments)))
    except ValueError as error:
        return str(error)

print(json.dumps([answer(arguments) for arguments in json.loads(sys.argv[1])]))
"""

NORMALIZE = T.Normalize(*(tuple(float(np.float32(x)) for x in list) for list in (
    (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))))  # fmt: skip
FLIP = T.RandomHorizontalFlip(0.5)
CROP = T.RandomResizedCrop((224, 224))
EITHER = T.RandomChoice([CROP, T.RandomResizedCrop((224, 224), interpolation="bicubic")])
JITTER = T.ColorJitter((0.6, 1.4), (0.6, 1.4), (0.6, 1.4), None)


def rand(config: str, **other: object) -> T.TimmRandAugment:
    return T.TimmRandAugment(config, **other)  # type: ignore[arg-type]


TRAIN = {"is_training": True, "interpolation": "random"}
RECIPES: list[tuple[dict, list[T.Transform]]] = [
    ({"is_training": True}, [CROP, FLIP, JITTER, NORMALIZE]),
    (
        {**TRAIN, "auto_augment": "rand-m9-mstd0.5-inc1", "re_prob": 0.25, "re_mode": "pixel"},
        [EITHER, FLIP, rand("rand-m9-n2-p0.5-mstd0.5-inc1"), NORMALIZE,
         T.TimmRandomErasing(0.25, mode="pixel", max_count=1)],
    ),
    (
        {**TRAIN, "auto_augment": "rand-n3-p0.25-mstd101-mmax20-tweights", "re_prob": 0.1, "re_count": 3},
        [EITHER, FLIP, rand("rand-m10-n3-p0.25-mstd101-mmax20-tweights"), NORMALIZE,
         T.TimmRandomErasing(0.1, max_count=3)],
    ),
    (
        {**TRAIN, "auto_augment": "rand-m5-t3aw", "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]},
        [EITHER, FLIP, rand("rand-m5-n2-p0.5-t3aw", img_mean=(128, 128, 128)), JITTER,
         T.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))],
    ),
    (
        {**TRAIN, "auto_augment": "rand-m9", "normalize": False, "hflip": 0, "vflip": 0.25},
        [EITHER, T.RandomVerticalFlip(0.25), rand("rand-m9-n2-p0.5")],
    ),
    (
        {**TRAIN, "auto_augment": "3a", "color_jitter": 0.3, "use_prefetcher": True},
        [EITHER, FLIP, T.TimmAutoAugment("3a"), T.ColorJitter((0.7, 1.3), (0.7, 1.3), (0.7, 1.3), None)],
    ),
    *(
        ({**TRAIN, "auto_augment": name + "-mstd0.5"}, [EITHER, FLIP, T.TimmAutoAugment(name + "-mstd0.5"), NORMALIZE])
        for name in ("original", "originalr", "v0", "v0r")
    ),
    (
        {"is_training": True, "interpolation": "bicubic", "auto_augment": "v0", "scale": [0.5, 1]},
        [T.RandomResizedCrop((224, 224), (0.5, 1), interpolation="bicubic"), FLIP,
         T.TimmAutoAugment("v0", interpolation="bicubic"), NORMALIZE],
    ),
    (
        {**TRAIN, "color_jitter": [0.4, 0.4, 0.2, 0.1], "color_jitter_prob": 0.8, "grayscale_prob": 0.2,
         "gaussian_blur_prob": 0.5},
        [EITHER, FLIP, T.RandomApply([T.ColorJitter((0.6, 1.4), (0.6, 1.4), (0.8, 1.2), (-0.1, 0.1))], 0.8),
         T.RandomGrayscale(0.2), T.RandomApply([T.GaussianBlur((23, 23), (0.1, 2.0))], 0.5), NORMALIZE],
    ),
    (
        {**TRAIN, "train_crop_mode": "rkrr", "color_jitter": None},
        [T.ResizeKeepRatio((224, 224), 0.0, "random", 0.5, (0.8, 1.0), True, 0.5, (0.9, 1 / 0.9)),
         T.RandomCropOrPad((224, 224), 0, "reflect"), FLIP, NORMALIZE],
    ),
    ({"is_training": True, "no_aug": True}, [T.Resize(224), T.CenterCrop((224, 224)), NORMALIZE]),
    ({}, [T.Resize(256), T.CenterCrop((224, 224)), NORMALIZE]),
]  # fmt: skip

EVALUATIONS = [
    {"input_size": 40, "interpolation": "bicubic"},
    {"input_size": 40, "crop_pct": 1.0, "normalize": False},
    {"input_size": [3, 33, 47], "crop_mode": "squash", "crop_pct": 0.9},
    {"input_size": [3, 33, 47], "crop_pct": 0.8},
    {"input_size": [3, 33, 47], "crop_mode": "border", "interpolation": "bicubic"},
    {"input_size": 40, "crop_mode": "border", "crop_pct": 1.0, "crop_border_pixels": 3},
    {"input_size": 40, "is_training": True, "no_aug": True},
    {"input_size": 23, "is_training": True, "scale": [1, 1], "ratio": [97 / 60, 97 / 60], "hflip": 1.0,
     "vflip": 1.0, "color_jitter": None},
]  # fmt: skip

REFUSED = [
    ({"is_training": True, "auto_augment": "augmix-m5"}, "timm's AugMixAugment: mixes"),
    ({"patchify": True}, "timm's Patchify"),
    ({"interpolation": "lanczos"}, "torchvision's Resize: interpolation lanczos"),
    ({"naflex": True}, "timm's ResizeToSequence"),
]


def lists(text: str) -> list[T.Transform]:
    return eval(text, {name: getattr(T, name) for name in T.__all__})


@pytest.fixture(scope="module")
def answers() -> list[str]:
    """Answers to all recipes, evaluations and refusals, in this order."""
    asked = [one for one, _ in RECIPES] + EVALUATIONS + [one for one, _ in REFUSED]
    return json.loads(ask_torchvision(_CHILD, json.dumps(asked)))


@pytest.mark.parametrize("number", range(len(RECIPES)))
def test_a_recipe_of_timm_becomes_a_list(number: int, answers: list[str]) -> None:
    made = lists(answers[number])
    assert repr(made) == repr(RECIPES[number][1])
    T.plan(made, (300, 400))  # the engine accepts the list
    sizes = {tuple(T.plan(made, (300 + i, 400), sample=i)["size"]) for i in range(9)}
    assert sizes == {(224, 224)}


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_cannot_be_translated_is_named(number: int, answers: list[str]) -> None:
    text = answers[len(RECIPES) + len(EVALUATIONS) + number]
    assert text.startswith("from_timm cannot translate ")
    assert REFUSED[number][1] in text


def test_other_objects_are_refused() -> None:
    with pytest.raises(ValueError, match="not list"):
        T.from_timm([T.CenterCrop(3)])
    with pytest.raises(ValueError, match="leave out separate=True"):
        T.from_timm((None, None, None))
    own = type("RandAugment", (), {"__module__": "mine.transforms"})()
    compose = types.new_class("Compose")
    compose.__module__ = "torchvision.transforms.transforms"
    made = compose()
    made.transforms = [own, own]
    with pytest.raises(ValueError, match="mine's RandAugment; mine's RandAugment"):
        T.from_timm(made)


_ORDERS = """
import json
from torchvision.transforms import Compose, Normalize, PILToTensor, RandomApply, RandomHorizontalFlip, Resize, ToTensor
from timm.data.transforms import MaybePILToTensor, MaybeToTensor, TrimBorder
from tundish import transforms as T

def answer(text):
    try:
        return repr(T.from_timm(Compose(eval(text))))
    except ValueError as error:
        return str(error)

print(json.dumps([answer(text) for text in json.loads(sys.argv[1])]))
"""
ORDERS = [
    ("[MaybeToTensor(), Resize(9)]", "Resize: it works on a tensor of floats"),
    ("[PILToTensor(), TrimBorder(2)]", "TrimBorder: it works on a tensor of levels"),
    ("[PILToTensor(), MaybeToTensor()]", "MaybeToTensor: the image is already a tensor of levels"),
    ("[MaybeToTensor(), MaybeToTensor()]", "the image is already a tensor of floats"),
    ("[MaybePILToTensor(), Normalize([0.5], [0.5])]", "Normalize: it works on a tensor of levels"),
    ("[Normalize([0.5], [0.5]), MaybeToTensor()]", "Normalize: it works on a PIL image"),
    ("[RandomApply([ToTensor()])]", "RandomApply: it holds a conversion"),
    ("[Resize(9), MaybeToTensor(), RandomHorizontalFlip()]", "[Resize(size=9"),
]


def test_the_order_of_conversions_is_checked() -> None:
    given = json.loads(ask_torchvision(_ORDERS, json.dumps([text for text, _ in ORDERS])))
    for (text, part), answer in zip(ORDERS, given, strict=True):
        assert part in answer, text
        assert answer.startswith("from_timm cannot translate ") or part.startswith("["), text


_PIXELS = """
import json
import numpy as np
import timm
from PIL import Image
results = {}
with np.load(sys.argv[1]) as images:
    for number, arguments in enumerate(json.loads(sys.argv[3])):
        transform = timm.data.create_transform(**arguments)
        for name in images.files:
            made = transform(Image.fromarray(images[name]))
            results[f"{number} {name}"] = made.numpy().transpose(1, 2, 0)
np.savez(sys.argv[2], **results)
"""


def test_deterministic_timm_transforms_have_the_same_pixels(
    answers: list[str], tmp_path: Path
) -> None:
    random = np.random.default_rng(1)
    sizes = [(60, 97), (31, 80), (120, 41), (20, 20), (64, 65)]
    images = {f"{h}x{w}": random.integers(0, 256, (h, w, 3)).astype(np.uint8) for h, w in sizes}
    np.savez(tmp_path / "images.npz", **images)
    ask_torchvision(
        _PIXELS, tmp_path / "images.npz", tmp_path / "made.npz", json.dumps(EVALUATIONS)
    )
    with np.load(tmp_path / "made.npz") as theirs:
        for number, arguments in enumerate(EVALUATIONS):
            transforms = lists(answers[len(RECIPES) + number])
            for name, image in images.items():
                if "ratio" in arguments and name != "60x97":
                    continue
                ours, wanted = T.apply(transforms, image), theirs[f"{number} {name}"]
                assert ours.dtype == wanted.dtype
                # Adjacent levels differ by 0.017. timm divides by 255, v2.ToDtype multiplies by 1 /
                # 255.
                most = 0 if ours.dtype == np.uint8 else 1e-6
                np.testing.assert_allclose(
                    ours, wanted, rtol=0, atol=most, err_msg=f"{arguments} {name}"
                )


def test_a_loader_gives_batches_with_a_recipe_of_timm(answers: list[str], photos) -> None:  # type: ignore[no-untyped-def]
    with tundish.Loader(photos.pack, batch_size=4, transforms=lists(answers[1])) as loader:
        images, _ = next(iter(loader))
    assert tuple(images.shape) == (4, 3, 224, 224)


_RESIZES = """
import json
from timm.data.transforms import MaybeToTensor
from torchvision.transforms import InterpolationMode, v2
from PIL import Image
from tundish import transforms as T
for given in ("bicubic", 3, InterpolationMode.BICUBIC, Image.Resampling.BICUBIC):
    resize = v2.Resize((9, 8), interpolation=given)
    print(T.from_timm(v2.Compose([resize, MaybeToTensor()]))[0] == T.Resize((9, 8), "bicubic"))
"""


def test_v2_keeps_an_interpolation_as_it_was_given() -> None:
    assert ask_torchvision(_RESIZES).split() == ["True"] * 4
