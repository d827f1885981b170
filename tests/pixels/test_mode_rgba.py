"""Loader(mode="RGBA"): pixels of Pillow's convert("RGBA") and of torchvision on such images."""

import io
import json
import struct
import zlib

import numpy as np
import pytest
import torch
import tundish
from PIL import Image
from tundish import transforms as T

from tests.helpers.files import write
from tests.helpers.program import needs_program
from tests.helpers.program import tundish as program
from tests.helpers.torchvision_child import ask_torchvision

CHAINS = """
[
    [],
    [Resize((20, 31))],
    [Resize((20, 31), interpolation=BICUBIC)],
    [Resize((77, 90), interpolation=BICUBIC), CenterCrop((33, 21)), RandomHorizontalFlip(p=1)],
    [Resize((40, 13), interpolation=NEAREST)],
    [RandomHorizontalFlip(p=1), RandomVerticalFlip(p=1), Resize((23, 90)), CenterCrop((20, 71))],
    [CenterCrop((60, 70))],
    [CenterCrop((60, 70)), Resize((31, 33))],
    [Pad((3, 1, 2, 4), fill=77), RandomHorizontalFlip(p=1)],
    [Pad((3, 1, 2, 4), fill=77), Resize((21, 24), interpolation=BICUBIC)],
    [Pad((3, 9, 2, 4), padding_mode="reflect"), Resize((19, 13)), Resize((30, 33)), Pad(2)],
    [Pad(2, padding_mode="edge"), RandomVerticalFlip(p=1)],
    [RandomRotation((30, 30), interpolation=BILINEAR, fill=99)],
    [RandomRotation((30, 30), interpolation=BICUBIC, expand=True)],
    [RandomRotation((30, 30), fill=9)],
    [RandomRotation((180, 180), interpolation=BILINEAR)],
    [RandomRotation((90, 90), interpolation=BILINEAR, expand=True), Resize((20, 20))],
    [RandomAffine((10, 10), scale=(1.2, 1.2), shear=(5, 5), interpolation=BILINEAR)],
    [RandomAffine((0, 0), interpolation=BILINEAR)],
    [RandomAffine((0, 0), scale=(0.7, 0.7), interpolation=NEAREST, fill=200)],
    [RandomAffine((10, 10), interpolation=BICUBIC, fill=200), Resize((20, 22))],
    [RandomRotation((30, 30)), RandomHorizontalFlip(p=1), Resize((25, 25), interpolation=BICUBIC)],
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
        image = Image.open(name).convert("RGBA")
        for step in chain:
            image = step(image)
        results[f"{number} {place}"] = np.asarray(image)
np.savez(sys.argv[1], **results)
"""


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(depth, color_type, rows, *chunks):
    """Returns a PNG from rows of bytes that are already encoded."""
    sides = (8 * len(rows[0]) // (depth * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color_type]), len(rows))
    head = struct.pack(">IIBBBBB", *sides, depth, color_type, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    parts = [(b"IHDR", head), *chunks, (b"IDAT", pixels), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*one) for one in parts)


def noise(seed, bytes_in_a_row, most=256):
    return np.random.default_rng(seed).integers(0, most, (37, bytes_in_a_row)).astype(np.uint8)


def key(*levels):
    return (b"tRNS", struct.pack(f">{len(levels)}H", *levels))


def kinds():
    """Every kind of file with a different conversion to RGBA, 48 x 37 pixels each."""
    y, x = np.mgrid[0:37, 0:48]
    waves = 127.5 + 127.4 * np.sin(x[..., None] / 9 + y[..., None] / 7 + np.array([0, 2, 4, 5]))
    rgba = Image.fromarray(waves.astype(np.uint8), "RGBA")
    rgb = rgba.convert("RGB")
    palette = (b"PLTE", bytes(noise(1, 12, 256)[:4].ravel()))  # 16 entries
    files = {
        "noise.png": png(8, 6, noise(2, 4 * 48)),
        "alpha-16.png": png(16, 6, noise(3, 8 * 48)),
        "gray-alpha.png": png(8, 4, noise(4, 2 * 48)),
        "gray-alpha-16.png": png(16, 4, noise(5, 4 * 48)),
        "gray-1.png": png(1, 0, noise(6, 6)),
        "gray-1-key.png": png(1, 0, noise(6, 6), key(1)),
        "gray-2-key.png": png(2, 0, noise(7, 12), key(3)),
        "gray-4-key.png": png(4, 0, noise(8, 24), key(0)),
        "gray-8-key.png": png(8, 0, noise(9, 48, 9), key(7)),
        "gray-8-large-key.png": png(8, 0, noise(9, 48, 9), key(256 + 7)),
        "gray-16-key.png": png(16, 0, noise(10, 96, 3), key(2)),
        "rgb-key.png": png(8, 2, noise(11, 3 * 48, 3), key(1, 2, 0)),
        "rgb-16-key.png": png(16, 2, noise(12, 6 * 48, 3), key(0x201, 0x102, 0)),
        "palette.png": png(8, 3, noise(13, 48, 20), palette),  # some indices are not in the palette
        "palette-alpha.png": png(
            8, 3, noise(13, 48, 20), palette, (b"tRNS", bytes(range(9, 200, 13)))
        ),
        "palette-4-key.png": png(4, 3, noise(14, 24), palette, (b"tRNS", b"\xff\xff\0\xff")),
    }
    for name, image in {
        "waves.png": rgba,
        "rgb.png": rgb,
        "photo.jpg": rgb,
        "gray.jpg": rgb.convert("L"),
    }.items():
        file = io.BytesIO()
        image.save(file, "PNG" if name.endswith("png") else "JPEG")
        files[name] = file.getvalue()
    return files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alpha")
    for name, data in kinds().items():
        write(folder / "c" / name, data)
    return sorted((folder / "c").iterdir())


def load(files, transforms, **options):
    """Returns every image separately, (C, H, W)."""
    options = {"batch_size": 1, "mode": "RGBA", "threads": 2, "backend": "numpy"} | options
    with tundish.Loader(files[0].parent.parent, transforms=transforms, **options) as loader:
        return [np.array(images[0]) for images, _ in loader]


def known_names():
    known = {name: getattr(T, name) for name in T.__all__}
    return known | {name.upper(): name for name in ("nearest", "bilinear", "bicubic")}


def assert_same(files, chains, folder, **options):
    ask_torchvision(_CHILD, folder / "theirs.npz", chains, json.dumps([str(one) for one in files]))
    wrong = []
    with np.load(folder / "theirs.npz") as theirs:
        for number, chain in enumerate(eval(chains, known_names())):
            for place, image in enumerate(load(files, chain, **options)):
                expected = theirs[f"{number} {place}"].transpose(2, 0, 1)
                assert image.shape == expected.shape
                if not np.array_equal(image, expected):
                    most = np.abs(image.astype(int) - expected.astype(int)).max((1, 2))
                    wrong.append((chain, files[place].name, most.tolist()))
    assert wrong == []


@pytest.mark.parametrize("memory_format", ["channels_last", "contiguous"])
def test_pixels_are_those_of_torchvision_on_pillow_images_of_mode_rgba(
    files, tmp_path, memory_format
):
    assert_same(files, CHAINS, tmp_path, memory_format=memory_format)


def test_random_sizes_equal_pillow_with_every_filter(files, tmp_path):
    random = np.random.default_rng(8)
    chains = [
        f"[Resize({tuple(random.integers(1, 110, 2).tolist())}, interpolation={name})]"
        for name in ("NEAREST", "BILINEAR", "BICUBIC")
        for _ in range(12)
    ]
    assert_same(files, f"[{', '.join(chains)}]", tmp_path)


def test_a_narrow_image_stays_premultiplied_between_the_two_passes(tmp_path):
    # Pillow resizes these images in the other order, which needs two steps of a plan.
    rgba = np.random.default_rng(2).integers(0, 256, (650, 6, 4), np.uint8)
    (tmp_path / "c").mkdir()
    Image.fromarray(rgba, "RGBA").save(tmp_path / "c/a.png")
    chains = "[[Resize((40, 9))], [Resize((300, 3), interpolation=BICUBIC)], [Resize((40, 6)), Resize((40, 9))]]"
    assert_same([tmp_path / "c/a.png"], chains, tmp_path)


def test_exif_orientation_is_applied(tmp_path):
    rgba = np.random.default_rng(3).integers(0, 256, (9, 14, 4), np.uint8)
    exif = Image.Exif()
    exif[0x0112] = 6
    (tmp_path / "c").mkdir()
    Image.fromarray(rgba, "RGBA").save(tmp_path / "c/a.png", exif=exif)
    for options in ({}, {"cache": "decoded", "memory": "64MiB"}):
        with tundish.Loader(
            tmp_path, mode="RGBA", exif_orientation=True, backend="numpy", **options
        ) as loader:
            for _ in range(2):
                ((images, _),) = list(loader)
                assert np.array_equal(images[0].transpose(1, 2, 0), np.rot90(rgba, -1))


@pytest.mark.parametrize("memory_format", ["channels_last", "contiguous"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_elements_are_normalized_by_four_numbers(files, memory_format, dtype):
    steps = [T.Resize((21, 33))]
    levels = torch.from_numpy(np.stack(load(files, steps)))
    scaled = levels.float() * torch.tensor(1 / 255)
    for mean, std in (([0.4, 0.5, 0.6, 0.1], [0.3, 0.2, 0.25, 2.0]), (0.4, 0.3)):
        more = [T.ToDtype(dtype, scale=True), T.Normalize(mean, std)]
        with tundish.Loader(
            files[0].parent.parent,
            len(files),
            mode="RGBA",
            transforms=[*steps, *more],
            memory_format=memory_format,
        ) as loader:
            images, _ = next(iter(loader))
        wide = [torch.tensor(one).expand(4).reshape(4, 1, 1) for one in (mean, std)]
        expected = ((scaled - wide[0]) / wide[1]).to(getattr(torch, dtype))
        assert images.dtype == expected.dtype
        assert torch.equal(images, expected)


def test_random_crops_of_opaque_images_equal_rgb(files):
    steps = [T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.RandomPerspective(p=1)]
    opaque = [one for one in files if one.suffix == ".jpg"]
    made = dict(zip(files, load(files, steps[:2], seed=4), strict=True))
    for one in opaque:
        pixels = np.asarray(Image.open(one).convert("RGB"))
        expected = T.apply(steps[:2], pixels, seed=4, sample=files.index(one))
        assert np.array_equal(made[one][:3].transpose(1, 2, 0), expected)
        assert (made[one][3] == 255).all()
    warped = dict(zip(files, load(files, steps, seed=4), strict=True))
    assert any((warped[one][3] == 0).any() for one in opaque)  # transparent outside the image


def test_levels_and_elements_are_erased_in_all_channels(files):
    erasing = T.RandomErasing(p=1, value=9)
    steps = [T.Resize((16, 18)), T.Normalize(0.5, 0.5)]
    for before, after in (([], [T.Resize((16, 18)), erasing]), (steps, [*steps, erasing])):
        plain = np.stack(load(files, before or [T.Resize((16, 18))]))
        erased = np.stack(load(files, after))
        windows = (erased == 9).all(1, keepdims=True)
        assert windows.any((1, 2, 3)).all()
        assert np.array_equal(erased, np.where(windows, 9, plain))


def test_views_crops_lists_and_padding_are_supported(files):
    folder, count = files[0].parent.parent, len(files)
    plain = np.stack(load(files, []))
    views = [[T.CenterCrop(12)], [T.CenterCrop(20), T.ToDtype("float32")]]
    with tundish.Loader(folder, count, mode="RGBA", views=views) as loader:
        (small, large), _ = next(iter(loader))
        assert np.array_equal(large.numpy()[..., 4:16, 4:16], small.numpy())
        assert np.array_equal(small.numpy(), plain[..., 12:24, 18:30])
    with tundish.Loader(folder, count, mode="RGBA", transforms=[T.FiveCrop(20)]) as loader:
        images, _ = next(iter(loader))
        assert images.shape == (count, 5, 4, 20, 20)
        assert np.array_equal(images[:, 0].numpy(), plain[..., :20, :20])
    with tundish.Loader(folder, count, mode="RGBA", images_as="list") as loader:
        images, _ = next(iter(loader))
        assert np.array_equal(torch.stack(images).numpy(), plain)
    with tundish.Loader(folder, count, mode="RGBA", pad_to=60, pad_to_fill=5) as loader:
        images, _ = next(iter(loader))
        assert np.array_equal(images[..., :37, :48].numpy(), plain)
        assert (images[..., 37:, :] == 5).all()


def test_caches_and_a_pack_change_nothing(files, tmp_path):
    steps = [T.Resize((20, 20))]
    expected = np.stack(load(files, steps))
    tundish.pack(files[0].parent.parent, tmp_path / "set.tnd")
    for path in (files[0].parent.parent, tmp_path / "set.tnd"):
        for options in ({"cache": "decoded"}, {"cache": "encoded"}, {}):
            with tundish.Loader(
                path, len(files), mode="RGBA", transforms=steps, memory="256MiB", **options
            ) as loader:
                for _ in range(2):
                    ((images, _),) = list(loader)
                    assert np.array_equal(images.numpy(), expected)


@needs_program
def test_states_replays_and_the_program_support_the_mode(files, tmp_path):
    folder = files[0].parent.parent
    steps = [T.RandomResizedCrop(20), T.Normalize([0.5] * 4, [0.2] * 4)]
    options = {"batch_size": 4, "mode": "RGBA", "transforms": steps, "seed": 3, "shuffle": True}
    with tundish.Loader(folder, **options) as loader:
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        images, _ = next(batches)
    with tundish.Loader(folder, **options) as loader:
        loader.load_state_dict(state)
        again, _ = next(iter(loader))
        assert torch.equal(again, images)
    with tundish.Loader(folder, 4) as loader, pytest.raises(tundish.Error, match='mode="RGBA", h'):
        loader.load_state_dict(state)

    saved = write(tmp_path / "state.json", json.dumps(state).encode())
    for line in (
        ["view", folder, "--state", saved, "-o", tmp_path / "replay.png"],
        ["view", folder, "--transforms", saved, "-o", tmp_path / "view.png"],
        ["info", "--stats", folder],
    ):
        done = program(*line)
        assert done.returncode == 0, done.stderr


REFUSED = [
    (T.Pad(1, fill=(1, 2, 3)), r"Pad: fill must be one number where .* alpha .*, not \(1, 2, 3\)"),
    (T.RandomErasing(value="random"), "RandomErasing: value must be one number"),
    (T.RandomErasing(value=(1, 2, 3)), "RandomErasing: value must be one number"),
    (T.Normalize(), r"Normalize: mean must be four numbers with mode=\"RGBA\", or one"),
    (T.Normalize([0.5] * 4, (1, 2, 3)), "Normalize: std must be four numbers"),
    (T.ColorJitter(0.5), 'ColorJitter: is not offered with mode="RGBA"'),
    (T.RandomApply([T.RandomInvert()]), "RandomInvert: is not offered"),
    (T.GaussianBlur(3), "GaussianBlur: is not offered"),
    (T.RandAugment(), "RandAugment: is not offered"),
    (T.Grayscale(3), "Grayscale: "),
    (T.MixUp(num_classes=3), "MixUp: is not offered"),
    (T.CutMix(num_classes=3), "CutMix: is not offered"),
]


@pytest.mark.parametrize(("transform", "says"), REFUSED, ids=str)
def test_transforms_without_alpha_support_are_refused(files, transform, says):
    with pytest.raises(tundish.Error, match=says):
        tundish.Loader(files[0].parent.parent, mode="RGBA", transforms=[transform])


def test_four_numbers_are_refused_where_images_have_no_alpha(files):
    four = T.Normalize([0.5] * 4, [0.2] * 4)
    for mode in ("RGB", "L", "I;16"):
        with pytest.raises(tundish.Error, match=r"mean has four numbers.*only mode=.RGBA. takes"):
            tundish.Loader(files[0].parent.parent, mode=mode, transforms=[four])
    with pytest.raises(tundish.Error, match="mean has four numbers"):
        T.apply([four], np.zeros((4, 4, 3), np.uint8))
