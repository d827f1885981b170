"""Loader(mode="L"): pixels of Pillow's convert("L") and of torchvision on such images."""

import json

import numpy as np
import pytest
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.torchvision_child import ask_torchvision

CHAINS = """
[
    [],
    [Resize((20, 31))],
    [Resize((9, 50), interpolation=BICUBIC), CenterCrop((9, 20))],
    [Resize((40, 13), interpolation=NEAREST)],
    [Pad((3, 1, 2, 4), fill=77), RandomHorizontalFlip(p=1)],
    [Pad(2, padding_mode="reflect"), RandomVerticalFlip(p=1), CenterCrop(60)],
    [ColorJitter(brightness=(1.4, 1.4))],
    [ColorJitter(contrast=(0.3, 0.3))],
    [ColorJitter(saturation=(2.5, 2.5))],
    [ColorJitter(hue=(0.3, 0.3))],
    [RandomGrayscale(p=1)],
    [Grayscale(num_output_channels=1)],
    [RandomChannelPermutation()],
    [RandomAdjustSharpness(2.5, p=1), Resize((30, 30))],
    [RandomAutocontrast(p=1)],
    [RandomEqualize(p=1)],
    [RandomInvert(p=1), RandomPosterize(3, p=1)],
    [RandomSolarize(100, p=1)],
    [GaussianBlur(5, sigma=(1.3, 1.3))],
    [RandomRotation((30, 30), interpolation=BILINEAR, fill=9)],
    [RandomAffine((10, 10), scale=(1.2, 1.2), shear=(5, 5), interpolation=BILINEAR)],
    [RandomAffine((0, 0), scale=(0.7, 0.7), interpolation=NEAREST, fill=200)],
    [JPEG((40, 40))],
]
"""

_CHILD = """
import json
import numpy as np
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import *
NEAREST, BILINEAR, BICUBIC = (InterpolationMode(n) for n in ("nearest", "bilinear", "bicubic"))
results = {}
for number, chain in enumerate(eval(sys.argv[2])):
    for place, name in enumerate(json.loads(sys.argv[3])):
        image = Image.open(name).convert("L")
        for step in chain:
            image = step(image)
        results[f"{number} {place}"] = np.asarray(image)
np.savez(sys.argv[1], **results)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Every kind of file with a different conversion to L."""
    folder = tmp_path_factory.mktemp("modes")
    (folder / "c").mkdir()
    random = np.random.default_rng(5)
    y, x = np.mgrid[0:37, 0:45]
    waves = 127.5 + 127.4 * np.sin(x[..., None] / 9 + y[..., None] / 7 + np.array([0, 2, 4]))
    rgb = np.clip(waves + random.normal(0, 12, waves.shape), 0, 255).astype(np.uint8)
    alpha = random.integers(0, 256, (37, 45, 1), np.uint8)
    color = Image.fromarray(rgb)
    images = {
        "a.jpg": color,
        "b.jpg": color.convert("L"),
        "c.jpg": color.convert("CMYK"),
        "d.png": color,
        "e.png": color.convert("L"),
        "f.png": color.quantize(60),
        "g.png": Image.fromarray(np.concatenate([rgb, alpha], 2)),
        "h.png": color.convert("LA"),
        "i.png": color.convert("1"),
        "j.png": Image.fromarray(random.integers(0, 600, (37, 45)).astype(np.uint16)),
        "k.png": Image.fromarray(random.integers(0, 256, (37, 45, 3), np.uint8)),
    }
    for name, image in images.items():
        image.save(folder / "c" / name)
    return sorted((folder / "c").iterdir())


def load(files, transforms, **options):
    """Returns every image separately, (C, H, W)."""
    options = {"batch_size": 1, "mode": "L", "threads": 2, "backend": "numpy"} | options
    with tundish.Loader(files[0].parent.parent, transforms=transforms, **options) as loader:
        return [np.array(images[0]) for images, _ in loader]


def test_pixels_are_those_of_torchvision_on_pillow_images_of_mode_l(files, tmp_path):
    names = json.dumps([str(one) for one in files])
    ask_torchvision(_CHILD, tmp_path / "theirs.npz", CHAINS, names)
    known = {name: getattr(T, name) for name in T.__all__}
    known |= {name.upper(): name for name in ("nearest", "bilinear", "bicubic")}
    wrong = []
    with np.load(tmp_path / "theirs.npz") as theirs:
        for number, chain in enumerate(eval(CHAINS, known)):
            for place, image in enumerate(load(files, chain)):
                expected = theirs[f"{number} {place}"]
                assert image.shape == (1, *expected.shape)
                if not np.array_equal(image[0], expected):
                    most = np.abs(image[0].astype(int) - expected.astype(int)).max()
                    wrong.append((chain, files[place].name, int(most)))
    assert wrong == []


@pytest.mark.parametrize("memory_format", ["channels_last", "contiguous"])
def test_elements_are_normalized_by_one_mean_and_one_std(files, memory_format):
    plain = load(files, [T.Resize((21, 33))])
    for mean, std in ((0.4, [0.3]), ([0.4] * 3, [0.3] * 3)):
        for dtype in ("float32", "float16"):
            steps = [T.Resize((21, 33)), T.RandomHorizontalFlip(1.0)]
            made = load(
                files,
                [*steps, T.ToDtype(dtype, scale=True), T.Normalize(mean, std)],
                memory_format=memory_format,
            )
            scaled = np.float32(1 / 255) * np.stack(plain)[..., ::-1].astype(np.float32)
            expected = (scaled - np.float32(0.4)) / np.float32(0.3)
            assert np.array_equal(np.stack(made), expected.astype(dtype))


RANDOM = [
    [T.RandomResizedCrop(24), T.RandomHorizontalFlip()],
    [T.RandomPerspective(p=1, fill=3)],
    [T.ElasticTransform()],
    [T.RandomPhotometricDistort(p=1)],
    [T.RandAugment()],
    [T.TrivialAugmentWide(), T.TrivialAugmentWide()],
    [T.AutoAugment()],
    [T.TimmRandAugment(img_mean=128)],
    [T.RandomErasing(p=1, value=7), T.ColorJitter(0.5, 0.5, 0.5, 0.5)],
]


@pytest.mark.parametrize("transforms", RANDOM, ids=str)
def test_random_transforms_treat_one_channel_like_three_equal_channels(files, transforms):
    for number, image in enumerate(load(files, transforms, seed=4)):
        gray = np.asarray(Image.open(files[number]).convert("L"))
        three = T.apply(transforms, np.repeat(gray[..., None], 3, 2), seed=4, sample=number)
        assert np.array_equal(three[..., 0], three[..., 1])
        assert np.array_equal(three[..., 0], three[..., 2])
        assert np.array_equal(image[0], three[..., 0])


@pytest.mark.parametrize(
    "noise", [T.GaussianNoise(sigma=0.2), T.RandomErasing(p=1, value="random")], ids=str
)
def test_noise_on_one_channel_is_seen_by_later_transforms(files, noise):
    for number, image in enumerate(load(files, [noise, T.RandomEqualize(p=1)], seed=4)):
        gray = np.asarray(Image.open(files[number]).convert("L"))
        three = T.apply([noise], np.repeat(gray[..., None], 3, 2), seed=4, sample=number)
        assert not np.array_equal(three[..., 0], three[..., 1])
        one = np.repeat(three[..., :1], 3, 2)
        assert np.array_equal(image[0], T.apply([T.RandomEqualize(p=1)], one)[..., 0])


def test_elements_are_erased_mixed_and_seen_in_several_views(files):
    steps = [T.Resize((16, 18)), T.Normalize(0.5, 0.5)]
    plain = np.stack(load(files, steps))
    erased = np.stack(load(files, [*steps, T.RandomErasing(p=1, value=9)]))
    assert erased.shape == plain.shape == (11, 1, 16, 18)
    assert ((erased == 9) | (erased == plain)).all()
    assert (erased == 9).any()

    options = {"batch_size": 11, "mode": "L", "backend": "numpy", "labels": range(11)}
    mixing = [*steps, T.MixUp(num_classes=11)]
    with tundish.Loader(files[0].parent.parent, transforms=mixing, **options) as loader:
        ((images, labels),) = [(np.array(a), np.array(b)) for a, b in loader]
    expected = np.einsum("nk,kchw->nchw", labels, plain)
    assert np.allclose(images, expected, atol=1e-6)

    with tundish.Loader(
        files[0].parent.parent, views=[steps, [T.Resize((5, 4))]], batch_size=11, mode="L"
    ) as loader:
        ((one, two), _) = next(iter(loader))
        assert (tuple(one.shape), tuple(two.shape)) == ((11, 1, 16, 18), (11, 1, 5, 4))
        assert np.array_equal(one.numpy(), plain)


def test_caches_exif_and_a_pack_change_nothing(files, tmp_path):
    steps = [T.Resize((20, 20))]
    expected = np.stack(load(files, steps))
    tundish.pack(files[0].parent.parent, tmp_path / "set.tnd")
    for path in (files[0].parent.parent, tmp_path / "set.tnd"):
        for options in ({"cache": "decoded", "memory": "256MiB"}, {"exif_orientation": True}):
            with tundish.Loader(
                path, batch_size=11, mode="L", transforms=steps, backend="numpy", **options
            ) as loader:
                for _ in range(2):
                    ((images, _),) = [(np.array(a), b) for a, b in loader]
                    assert np.array_equal(images, expected)


@pytest.mark.parametrize(
    ("transform", "says"),
    [
        (T.Grayscale(3), "num_output_channels must be 1, not 3"),
        (T.AugMix(), 'AugMix: is not offered with mode="L"'),
        (T.Pad(1, fill=(1, 2, 3)), r"fill must be one number where .*, not \(1, 2, 3\)"),
        (T.Normalize(), "mean must be one number"),
        (T.TimmRandAugment(), "img_mean must be one number"),
        (T.RandomErasing(value=(1, 2, 3)), "value must be one number"),
        (T.RandomApply([T.ElasticTransform(fill=(0, 0, 1))]), "ElasticTransform: fill must be one"),
    ],
    ids=str,
)
def test_arguments_per_channel_are_refused(files, transform, says):
    with pytest.raises(tundish.Error, match=says):
        tundish.Loader(files[0].parent.parent, mode="L", transforms=[transform])
    with pytest.raises(tundish.Error, match="num_output_channels must be 3, not 1"):
        tundish.Loader(files[0].parent.parent, transforms=[T.Grayscale(1)])
    with pytest.raises(tundish.Error, match="mode must be one of RGB, L"):
        tundish.Loader(files[0].parent.parent, mode="CMYK")


def test_a_state_belongs_to_its_mode(files):
    folder = files[0].parent.parent
    with tundish.Loader(folder, mode="L") as loader:
        state = loader.state_dict()
    with tundish.Loader(folder, mode="L") as loader:
        loader.load_state_dict(state)
    with tundish.Loader(folder) as loader, pytest.raises(tundish.Error, match='mode="L", h'):
        loader.load_state_dict(state)
