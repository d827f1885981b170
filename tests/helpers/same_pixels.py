"""Applies a list of transforms with torchvision (on Pillow images) and with the engine."""

from pathlib import Path

import numpy as np
from tundish import transforms as T

from tests.helpers.torchvision_child import ask_torchvision

SIZES = [(1, 1), (1, 9), (7, 1), (2, 2), (3, 5), (17, 16), (64, 80), (113, 97)]  # (height, width)

_CHILD = """
import numpy as np
from PIL import Image
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import *
NEAREST, BILINEAR, BICUBIC = (InterpolationMode(n) for n in ("nearest", "bilinear", "bicubic"))
results = {}
with np.load(sys.argv[1]) as images:
    for number, chain in enumerate(eval(sys.argv[3])):
        for name in images.files:
            image = Image.fromarray(images[name])
            for step in chain:
                image = step(image)
            results[f"{number} {name}"] = np.asarray(image)
np.savez(sys.argv[2], **results)
"""


KINDS = ("noise", "smooth", "narrow", "few", "gray", "one")
# Image kinds that are enough for operations that move pixels and ignore their levels.
MOVED = ("noise", "smooth")


def sample_images(seed: int = 0, kinds: tuple[str, ...] = KINDS) -> dict[str, np.ndarray]:
    """Returns images in every size, with noise, smooth colors, few colors and one color."""
    random = np.random.default_rng(seed)
    out = {}
    for height, width in SIZES:
        shape = (height, width, 3)
        y, x = np.mgrid[0:height, 0:width]
        waves = 127.5 + 127.4 * np.sin(x[..., None] / 9 + y[..., None] / 7 + np.array([0, 2, 4]))
        out[f"noise {height}x{width}"] = random.integers(0, 256, shape)
        out[f"smooth {height}x{width}"] = waves
        out[f"narrow {height}x{width}"] = random.integers(100, 131, shape)
        out[f"few {height}x{width}"] = random.choice([0, 1, 128, 254, 255], shape)
        out[f"gray {height}x{width}"] = random.integers(0, 256, (height, width, 1)) * [1, 1, 1]
        out[f"one {height}x{width}"] = np.full(shape, random.integers(0, 256, 3))
    chosen = [name for name in out if name.split()[0] in kinds]
    return {name: out[name].astype(np.uint8) for name in chosen}


def differences(
    cases: str, folder: Path, seed: int = 0, kinds: tuple[str, ...] = KINDS
) -> dict[str, int]:
    """Returns the largest difference in levels, for each case and image whose pixels differ.

    `cases` is the source of a list of lists of transforms, which must not be random.
    """
    images = sample_images(seed, kinds)
    np.savez(folder / "images.npz", **images)
    ask_torchvision(_CHILD, folder / "images.npz", folder / "theirs.npz", cases)
    names = {name: getattr(T, name) for name in T.__all__}
    filters = {name.upper(): name for name in ("nearest", "bilinear", "bicubic")}
    out = {}
    with np.load(folder / "theirs.npz") as theirs:
        for number, chain in enumerate(eval(cases, names | filters)):
            for name, image in images.items():
                expected = theirs[f"{number} {name}"]
                result = T.apply(chain, image)
                assert result.shape == expected.shape, (chain, name)
                most = int(np.abs(result.astype(int) - expected.astype(int)).max(initial=0))
                if most > 0:
                    out[f"{chain} {name}"] = most
    return out
