"""Color operations give torchvision's pixels."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tundish import transforms as T

from tests.helpers import same_pixels
from tests.helpers.same_pixels import differences
from tests.helpers.torchvision_child import ask_torchvision

FACTORS = (0, 1e-7, 0.1, 0.25, 0.5, 0.6, 0.999999, 1, 1.0000002, 1.4, 2, 3.7, 100, 1e30)
CASES = f"""
[
    *[[ColorJitter(brightness=(f, f))] for f in {FACTORS}],
    *[[ColorJitter(contrast=(f, f))] for f in {FACTORS}],
    *[[ColorJitter(saturation=(f, f))] for f in {FACTORS}],
    *[[ColorJitter(hue=(h, h))] for h in (-0.5, -0.3, -0.1, -1 / 255, 0.001, 1 / 255, 0.1, 0.2, 0.4, 77 / 255, 0.5)],
    *[[RandomAdjustSharpness(f, p=1)] for f in {FACTORS}],
    [ColorJitter()],
    [Grayscale(3)],
    [RandomGrayscale(p=1)],
    [RandomGrayscale(p=0)],
    [RandomAutocontrast(p=1)],
    [RandomAutocontrast(p=0)],
    [RandomEqualize(p=1)],
    [RandomEqualize(p=0)],
    [RandomPhotometricDistort(p=0)],
]
"""
CHAINS = """
[
    [RandomEqualize(p=1), RandomAutocontrast(p=1), RandomEqualize(p=1)],
    [RandomEqualize(p=1), ColorJitter(contrast=(0.3, 0.3)), RandomEqualize(p=1), RandomAutocontrast(p=1)],
    [RandomSolarize(100, p=1), RandomAutocontrast(p=1), ColorJitter(brightness=(0.7, 0.7))],
    [ColorJitter(brightness=(0.5, 0.5)), RandomAutocontrast(p=1), ColorJitter(contrast=(1.7, 1.7))],
    [ColorJitter(brightness=(1.6, 1.6)), RandomEqualize(p=1), Grayscale(3), RandomEqualize(p=1)],
    [ColorJitter(contrast=(0.4, 0.4)), RandomInvert(p=1), ColorJitter(contrast=(1.9, 1.9))],
    [ColorJitter(saturation=(1.8, 1.8)), ColorJitter(hue=(0.2, 0.2)), RandomAdjustSharpness(2, p=1)],
    [RandomAdjustSharpness(0, p=1), RandomHorizontalFlip(p=1), Resize((19, 23)), RandomEqualize(p=1)],
    [RandomAutocontrast(p=1), RandomPosterize(3, p=1), Resize((9, 7)), ColorJitter(hue=(-0.2, -0.2))],
]
"""


def test_color_operations_equal_torchvision_on_pillow_images(tmp_path: Path) -> None:
    assert differences(CASES, tmp_path) == {}


def test_chains_of_color_operations_equal_torchvision(tmp_path: Path) -> None:
    assert differences(CHAINS, tmp_path, seed=1) == {}


# Executes plans with torchvision's functions. Hues are shifted in Pillow's HSV, as in adjust_hue.
_CHILD = """
import json
import numpy as np
from PIL import Image
from torchvision.transforms.v2 import functional as F
CALLS = {
    "brightness": F.adjust_brightness,
    "contrast": F.adjust_contrast,
    "saturation": F.adjust_saturation,
    "hue": lambda image, added: F.adjust_hue(image, (added + 0.5 if added < 128 else added - 256.5) / 255),
    "permute": lambda image, *order: F.permute_channels(image, [int(one) for one in order]),
}
results = {}
with np.load(sys.argv[1]) as images:
    for number, steps in enumerate(json.loads(sys.argv[3])):
        for name in images.files:
            image = Image.fromarray(images[name])
            for step in steps:
                image = CALLS[step["op"]](image, *step["value"])
            results[f"{number} {name}"] = np.asarray(image)
np.savez(sys.argv[2], **results)
"""


@pytest.mark.parametrize(
    "transform",
    [
        T.ColorJitter(0.4, 0.4, 0.4, 0.1),
        T.RandomPhotometricDistort(p=0.8),
        T.RandomChannelPermutation(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_drawn_operations_equal_torchvisions(transform: T.Transform, tmp_path: Path) -> None:
    images = {
        name: image for name, image in same_pixels.sample_images(2).items() if "17x16" in name
    }
    plans = [T.plan([transform], (17, 16), sample=sample)["steps"][1:] for sample in range(60)]
    assert len({json.dumps([step["op"] for step in steps]) for steps in plans}) >= (
        1 if transform == T.RandomChannelPermutation() else 15
    )
    np.savez(tmp_path / "images.npz", **images)
    ask_torchvision(_CHILD, tmp_path / "images.npz", tmp_path / "theirs.npz", json.dumps(plans))
    with np.load(tmp_path / "theirs.npz") as theirs:
        for sample, steps in enumerate(plans):
            for name, image in images.items():
                ours = T.apply([transform], image, sample=sample)
                assert (ours == theirs[f"{sample} {name}"]).all(), (steps, name)


def test_every_color_has_pillows_hue_gray_and_saturation() -> None:
    number = np.arange(1 << 24, dtype=np.uint32).reshape(4096, 4096)
    colors = np.stack([number >> 16, number >> 8, number], -1).astype(np.uint8)
    picture = Image.fromarray(colors)
    hsv = np.array(picture.convert("HSV"))
    hsv[..., 0] += 76
    shifted = np.asarray(Image.frombytes("HSV", picture.size, hsv.tobytes()).convert("RGB"))
    assert (T.apply([T.ColorJitter(hue=(0.3, 0.3))], colors) == shifted).all()
    gray = picture.convert("L").convert("RGB")
    assert (T.apply([T.Grayscale(3)], colors) == np.asarray(gray)).all()
    saturated = np.asarray(Image.blend(gray, picture, 1.7))
    assert (T.apply([T.ColorJitter(saturation=(1.7, 1.7))], colors) == saturated).all()


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (
            T.Grayscale(),
            r"must be 3, not 1: a batch has three .*Write Grayscale\(3\).*leave Grayscale out, .*mode=.L.",
        ),
        (
            T.ColorJitter(brightness=-1),
            "brightness must be a number of at least 0, or two in order",
        ),
        (T.ColorJitter(hue=0.6), "hue must be .* from -0.5 to 0.5, or none"),
        (T.ColorJitter(contrast=(2, 1)), r"contrast must be .*not \(2, 1\)"),
        (T.RandomPhotometricDistort(saturation=(2, 1)), "saturation must be two numbers in order"),
        (T.RandomAdjustSharpness(-1), "sharpness_factor must be a number from 0"),
        (T.RandomEqualize(p=2), "p must be a number from 0 to 1, not 2"),
    ],
    ids=str,
)
def test_arguments_that_torchvision_refuses_are_refused(transform: T.Transform, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        T.plan([transform], (8, 8))
