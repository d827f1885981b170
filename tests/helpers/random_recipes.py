"""Draws lists of torchvision's transforms, and compares them with their translation to tundish.

The lists ("recipes") mix v1 and v2 transforms. They contain no random transforms (p is 0 or 1, and
ranges are one number), so both sides must give the same pixels. A recipe is text, so that a difference
can be reproduced in a shell. Only compare_recipe() imports torchvision.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

FILTERS = ("NEAREST", "BILINEAR", "BICUBIC")
HALVES = 1e-3  # share of the levels in a blurred image that may differ by one


def _level(pick: random.Random) -> str:
    return str(pick.choice([0, 7, 255, pick.randint(0, 255)]))


def _fill(pick: random.Random, v: str) -> str:
    three = f"({', '.join(_level(pick) for _ in range(3))})"
    plain = pick.choice([_level(pick), three, three.replace("(", "[").replace(")", "]")])
    if v == "v1" or pick.random() < 0.5:
        return plain
    keys = ["Image.Image", "torch.Tensor", "tv_tensors.Image", "tv_tensors.Mask", "'others'"]
    pick.shuffle(keys)
    kept = keys[: pick.randint(1, 5)]
    return "{" + ", ".join(f"{key}: {pick.choice([_level(pick), three])}" for key in kept) + "}"


def _size(pick: random.Random) -> str:
    a, b = pick.randint(8, 60), pick.randint(8, 60)
    return pick.choice([str(a), f"({a}, {b})", f"[{a}, {b}]", f"[{a}]"])


def _p(pick: random.Random) -> str:
    return pick.choice(["0", "1", "1.0", "1"])


def _filter(pick: random.Random, v: str) -> str:
    name = pick.choice(FILTERS)
    text = [f"InterpolationMode.{name}", str({"NEAREST": 0, "BILINEAR": 2, "BICUBIC": 3}[name])]
    return pick.choice([*text, repr(name.lower())] if v == "v2" else text)


def _padding(pick: random.Random) -> str:
    sides = [pick.randint(0, 6) for _ in range(4)]
    return pick.choice([str(sides[0]), str(sides[:1]), str(tuple(sides[:2])), str(sides)])


def _mode(pick: random.Random) -> str:
    return pick.choice(["constant", "constant", "edge", "reflect", "symmetric"])


def _geometry(pick: random.Random, v: str) -> str:
    angle = pick.randint(-180, 180)
    scale = pick.choice(["None", "(1.3, 1.3)", "(0.7, 0.7)"])
    return pick.choice(
        [
            f"{v}.Resize({_size(pick)}, interpolation={_filter(pick, v)})",
            f"{v}.Resize({pick.randint(8, 40)}, max_size={pick.randint(41, 60)})",
            f"{v}.CenterCrop({_size(pick)})",
            f"{v}.Pad({_padding(pick)}, fill={_fill(pick, v)}, padding_mode={_mode(pick)!r})",
            f"{v}.Pad({_padding(pick)}, fill={_fill(pick, v)})",
            f"{v}.RandomHorizontalFlip({_p(pick)})",
            f"{v}.RandomVerticalFlip(p={_p(pick)})",
            f"{v}.RandomRotation(({angle}, {angle}), {_filter(pick, v)}, {pick.choice([True, False])}, "
            f"fill={_fill(pick, v)})",
            f"v2.RandomAffine([{angle}, {angle}], None, {scale}, [5, 5, 3, 3], fill={_fill(pick, 'v2')})",
        ]
    )


def _colors(pick: random.Random, v: str) -> str:
    factor = round(pick.uniform(0, 2), 2)
    kind = pick.choice(["brightness", "contrast", "saturation"])
    return pick.choice(
        [
            f"{v}.ColorJitter({kind}=({factor}, {factor}))",
            f"{v}.ColorJitter(hue=({factor / 4 - 0.25}, {factor / 4 - 0.25}))",
            f"{v}.Grayscale(3)",
            f"{v}.RandomGrayscale({_p(pick)})",
            f"{v}.RandomAdjustSharpness({factor}, {_p(pick)})",
            f"{v}.RandomAutocontrast({_p(pick)})",
            f"{v}.RandomEqualize({_p(pick)})",
            f"{v}.RandomInvert({_p(pick)})",
            f"{v}.RandomPosterize({pick.randint(0, 8)}, {_p(pick)})",
            f"{v}.RandomSolarize({pick.choice([0, 100, 128.5, 255])}, {_p(pick)})",
            f"{v}.GaussianBlur({pick.choice([3, 5])}, {pick.choice([0.5, 1.5])})",
            f"{v}.RandomErasing(0)",
            "v2.Identity()",
            "v2.RGB()",
            f"v2.JPEG({pick.randint(1, 100)})",
        ]
    )


def _held(pick: random.Random, v: str, depth: int, tensors: bool) -> str:
    many = [_pixels(pick, tensors, depth + 1) for _ in range(pick.randint(1, 3))]
    steps = ", ".join(many)
    weights = [int(number == 0) for number in range(len(many))]
    return pick.choice(
        [
            f"{v}.Compose([{steps}])",
            f"{v}.RandomApply([{steps}], p={_p(pick)})",
            f"{v}.RandomChoice([{steps}], p={weights})",
            f"{v}.RandomOrder([{many[0]}])",
        ]
    )


def _of_tensors(pick: random.Random, v: str) -> str:
    """Returns a transform that gives the same pixels on a tensor as on an image."""
    return pick.choice(
        [
            f"{v}.CenterCrop({_size(pick)})",
            f"{v}.Pad({_padding(pick)}, fill={_fill(pick, v)}, padding_mode={_mode(pick)!r})",
            f"{v}.Pad({_padding(pick)}, fill={_fill(pick, v)})",
            f"{v}.RandomHorizontalFlip({_p(pick)})",
            f"{v}.RandomVerticalFlip(p={_p(pick)})",
            f"{v}.RandomInvert({_p(pick)})",
            f"{v}.RandomPosterize({pick.randint(0, 8)}, {_p(pick)})",
            f"{v}.RandomErasing(0)",
        ]
    )


def _pixels(pick: random.Random, tensors: bool, depth: int = 0) -> str:
    v = pick.choice(["v1", "v2"])
    if depth < 2 and pick.random() < 0.15:
        return _held(pick, v, depth, tensors)
    if tensors and pick.random() < 0.9:
        return _of_tensors(pick, v)
    return _geometry(pick, v) if pick.random() < 0.5 else _colors(pick, v)


def _types(pick: random.Random) -> str:
    v = pick.choice(["v1", "v2"])
    dtype = pick.choice(["torch.float32", "torch.float32", "torch.float16", "torch.uint8"])
    keys = ["tv_tensors.Image", "torch.Tensor", "'others'", "tv_tensors.Mask"]
    pick.shuffle(keys)
    table = ", ".join(
        f"{key}: {pick.choice(['None', 'torch.float32', dtype])}"
        for key in keys[: pick.randint(1, 4)]
    )
    scale = pick.choice([True, False])
    return pick.choice(
        [
            "v2.ToImage()",
            "v2.ToImage()",
            f"{v}.PILToTensor()",
            "v2.ToPureTensor()",
            f"{v}.ToPILImage()",
            f"{v}.ToTensor()",
            f"v2.ToDtype({dtype}, scale={scale})",
            f"v2.ToDtype({{{table}}}, scale={scale})",
            f"{v}.ConvertImageDtype({dtype})",
            f"{v}.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))",
            f"{v}.Normalize([0.5], [0.5])",
        ]
    )


def draw_recipe(number: int) -> str:
    """Returns the text of recipe `number`: a list of torchvision's transforms."""
    pick = random.Random(number)
    steps = [_pixels(pick, tensors=False) for _ in range(pick.randint(0, 2))]
    first = pick.choice(["v2.ToImage()", "v2.ToImage()", "v2.PILToTensor()", "v1.ToTensor()"])
    for turn in range(pick.randint(0, 4)):
        steps.append(first if turn == 0 and pick.random() < 0.8 else _types(pick))
        steps += [_pixels(pick, tensors=True) for _ in range(pick.choice([0, 0, 1, 2]))]
    return f"[{', '.join(steps)}]"


def _applied(recipe: list[Any], image: Any) -> np.ndarray:
    for step in recipe:
        image = step(image)
    if hasattr(image, "permute"):
        return image.permute(1, 2, 0).numpy()
    return np.asarray(image)


def _difference(text: str, made: np.ndarray, wanted: np.ndarray) -> str:
    if made.dtype != wanted.dtype or made.shape != wanted.shape:
        return f"{made.dtype} {made.shape}, torchvision gives {wanted.dtype} {wanted.shape}"
    apart = np.abs(made.astype(np.float64) - wanted.astype(np.float64))
    if made.dtype == np.uint8:
        if "GaussianBlur" in text:  # later transforms may amplify halves that round differently
            return f"{(apart > 0).mean():.2%} differ" if (apart > 0).mean() > 20 * HALVES else ""
        return f"levels differ by {apart.max():.0f}" if apart.any() else ""
    # Multiplying by 1 / 255 and dividing by 255 differ in the last bit, which Normalize amplifies. A
    # difference of one level is at least 1 / 255.
    most = 0.002 if made.dtype == np.float16 else 2e-6
    scale = max(1.0, float(np.abs(wanted.astype(np.float64)).max()))
    share = (apart > most * scale).mean()
    return (
        f"elements differ by {apart.max()}"
        if share > (0.02 if "GaussianBlur" in text else 0)
        else ""
    )


def compare_recipe(text: str, size: tuple[int, int], seed: int = 0) -> str:
    """Returns "same", "refused: ...", "differs: ...", or "no recipe: ..." (torchvision failed)."""
    import torch
    from PIL import Image
    from torchvision import transforms as v1
    from torchvision import tv_tensors
    from torchvision.transforms import InterpolationMode, v2
    from tundish import transforms as T

    names = {"torch": torch, "v1": v1, "v2": v2, "tv_tensors": tv_tensors, "Image": Image}
    recipe = eval(text, {**names, "InterpolationMode": InterpolationMode})
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3)).astype(np.uint8)
    try:
        ours = T.from_torchvision(recipe)
    except ValueError as error:
        return f"refused: {error}"
    try:
        wanted = _applied(recipe, Image.fromarray(pixels))
    except (TypeError, ValueError, RuntimeError) as error:
        return f"no recipe: {error}"
    found = _difference(text, T.apply(ours, pixels), wanted)
    return f"differs: {found}; {ours}" if found else "same"
