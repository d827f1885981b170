"""Loader(mode="I;16") keeps the 16 bits of 16-bit gray PNGs."""

import json

import numpy as np
import pytest
import torch
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.files import jpeg, write
from tests.helpers.torchvision_child import ask_torchvision

CHAINS = """
[
    [],
    [CenterCrop((20, 12))],
    [CenterCrop((60, 70))],
    [Pad((3, 1, 2, 4)), RandomHorizontalFlip(p=1)],
    [Pad(2, padding_mode="reflect"), RandomVerticalFlip(p=1)],
    [Pad(2, padding_mode="edge"), RandomVerticalFlip(p=1), RandomHorizontalFlip(p=1)],
    [Resize((20, 31), interpolation=NEAREST)],
    [Resize((77, 90), interpolation=NEAREST), CenterCrop(33), RandomHorizontalFlip(p=1)],
    [RandomHorizontalFlip(p=1), Resize((5, 90), interpolation=NEAREST)],
    [Resize((20, 31))],
    [Resize((20, 31), interpolation=BICUBIC)],
    [Resize((77, 45), interpolation=BICUBIC), CenterCrop((33, 21)), RandomHorizontalFlip(p=1)],
    [RandomHorizontalFlip(p=1), RandomVerticalFlip(p=1), Resize((23, 90)), CenterCrop((20, 71))],
    [Pad((3, 9, 2, 4), padding_mode="reflect"), Resize((19, 13)), Resize((30, 33)), Pad(2)],
    [CenterCrop((37, 5)), Resize((11, 3), interpolation=BICUBIC), RandomVerticalFlip(p=1)],
]
"""

_CHILD = """
import json
import numpy as np
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import *
NEAREST, BICUBIC = InterpolationMode("nearest"), InterpolationMode("bicubic")
results = {}
for number, chain in enumerate(eval(sys.argv[2])):
    for place, name in enumerate(json.loads(sys.argv[3])):
        image = Image.open(name)
        assert image.mode == "I;16"
        for step in chain:
            image = step(image)
        results[f"{number} {place}"] = np.asarray(image)
np.savez(sys.argv[1], **results)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deep") / "c"
    folder.mkdir()
    random = np.random.default_rng(5)
    for number in range(6):
        levels = random.integers(0, 65536, (37, 45)).astype(np.uint16)
        Image.fromarray(levels).save(folder / f"{number}.png")
    return sorted(folder.iterdir())


def load(files, transforms, **options):
    options = {"batch_size": 1, "mode": "I;16", "threads": 2, "backend": "numpy"} | options
    with tundish.Loader(files[0].parent.parent, transforms=transforms, **options) as loader:
        return [np.array(images[0]) for images, _ in loader]


@pytest.mark.parametrize("memory_format", ["channels_last", "contiguous"])
def test_pixels_are_those_of_torchvision_on_pillow_images(files, tmp_path, memory_format):
    names = json.dumps([str(one) for one in files])
    ask_torchvision(_CHILD, tmp_path / "theirs.npz", CHAINS, names)
    known = {name: getattr(T, name) for name in T.__all__} | {
        "NEAREST": "nearest",
        "BICUBIC": "bicubic",
    }
    with np.load(tmp_path / "theirs.npz") as theirs:
        for number, chain in enumerate(eval(CHAINS, known)):
            for place, image in enumerate(load(files, chain, memory_format=memory_format)):
                expected = theirs[f"{number} {place}"]
                assert image.dtype == expected.dtype == np.uint16
                assert image.shape == (1, *expected.shape)
                assert np.array_equal(image[0], expected), (chain, files[place].name)


def test_random_crops_move_pixels(files):
    steps = [T.RandomResizedCrop(24, interpolation="nearest"), T.RandomCrop(20, padding=3)]
    for number, image in enumerate(load(files, steps, seed=4)):
        deep = np.asarray(Image.open(files[number])).astype(int)
        parts = [
            T.apply(steps, np.repeat(part.astype(np.uint8)[..., None], 3, 2), seed=4, sample=number)
            for part in (deep % 256, deep // 256)
        ]
        assert np.array_equal(image[0], parts[0][..., 0] + 256 * parts[1][..., 0].astype(int))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_elements_are_those_of_torchvision(files, tmp_path, dtype):
    code = f"""
import numpy as np
from torchvision.transforms import v2
from PIL import Image
chain = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.4], [0.3])])
out = chain(Image.open(sys.argv[1])).to(torch.{dtype})
np.save(sys.argv[2], out.float().numpy())
"""
    ask_torchvision(code, files[0], tmp_path / "theirs.npy")
    for scaled in ([T.ToDtype(dtype, scale=True)], [T.Normalize(0, 1), T.ToDtype(dtype)]):
        with tundish.Loader(
            files[0].parent.parent, mode="I;16", transforms=[*scaled, T.Normalize(0.4, 0.3)]
        ) as loader:
            images, _ = next(iter(loader))
            assert images.dtype == getattr(torch, dtype)
            assert np.array_equal(images[0].float().numpy(), np.load(tmp_path / "theirs.npy"))
    plain = load(files, [T.ToDtype("float32")])
    assert np.array_equal(plain[0], load(files, [])[0].astype(np.float32))


def test_views_caches_and_packs_keep_16_bits(files, tmp_path):
    expected = np.stack(load(files, []))
    tundish.pack(files[0].parent.parent, tmp_path / "set.tnd")
    for path in (files[0].parent.parent, tmp_path / "set.tnd"):
        for options in ({}, {"cache": "decoded", "memory": "64MiB"}, {"exif_orientation": True}):
            with tundish.Loader(path, 6, mode="I;16", **options) as loader:
                for _ in range(2):
                    ((images, _),) = list(loader)
                    assert images.dtype == torch.uint16
                    assert np.array_equal(images.numpy(), expected)
    views = [[T.CenterCrop(12)], [T.CenterCrop(20), T.ToDtype("float32")]]
    with tundish.Loader(tmp_path / "set.tnd", 6, mode="I;16", views=views) as loader:
        (small, large), _ = next(iter(loader))
        assert (small.dtype, large.dtype) == (torch.uint16, torch.float32)
        assert np.array_equal(small.numpy(), large[..., 4:16, 4:16].numpy().astype(np.uint16))


def test_exif_orientation_is_applied(tmp_path):
    levels = np.random.default_rng(3).integers(0, 65536, (9, 14)).astype(np.uint16)
    image = Image.fromarray(levels)
    exif = Image.Exif()
    exif[0x0112] = 6
    (tmp_path / "c").mkdir()
    image.save(tmp_path / "c/a.png", exif=exif)
    with tundish.Loader(tmp_path, mode="I;16", exif_orientation=True, backend="numpy") as loader:
        ((images, _),) = list(loader)
        assert np.array_equal(images[0, 0], np.rot90(levels, -1))


def test_other_images_are_bad_samples(files, tmp_path):
    write(tmp_path / "c/a.png", files[0].read_bytes())
    write(tmp_path / "c/b.jpg", jpeg())
    Image.new("L", (45, 37)).save(tmp_path / "c/d.png")
    with tundish.Loader(tmp_path, 3, mode="I;16") as loader:
        with pytest.warns(UserWarning, match="not the kind of image that is needed"):
            ((images, _),) = list(loader)
        assert len(images) == 1
        assert [bad["sample"] for bad in loader.bad_samples()] == [1, 2]
    with (
        tundish.Loader(tmp_path, 3, mode="I;16", on_error="fail") as loader,
        pytest.raises(tundish.SampleError, match="no 16-bit grays"),
    ):
        list(loader)


@pytest.mark.parametrize(
    ("transform", "says"),
    [
        (T.Pad(1, fill=1), "Pad: fill must be 0"),
        (T.RandomCrop(9, padding=1, fill=1), "RandomCrop: fill must be 0"),
        (T.ColorJitter(0.5), 'ColorJitter: is not offered with mode="I;16"'),
        (T.RandomRotation(3), 'RandomRotation: is not offered with mode="I;16"'),
        (T.RandomApply([T.RandomInvert()]), "RandomInvert: is not offered"),
        (T.Normalize(), "Normalize: mean must be one number"),
        (T.MixUp(num_classes=3), "not offered with mode"),
    ],
    ids=str,
)
def test_only_moving_and_resizing_transforms_are_accepted(files, transform, says):
    with pytest.raises(tundish.Error, match=says):
        tundish.Loader(files[0].parent.parent, mode="I;16", transforms=[transform])
