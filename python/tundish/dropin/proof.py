"""Compares the engine's batches with batches made by torch's code."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from typing import Any

from .._c.errors import SampleError
from .._process.random_state import RandomState
from ..data.loader import Loader
from ..data.open_source import Source
from ..transforms.transform import Transform
from .datasets.known_datasets import KnownDataset
from .datasets.parts import Names
from .native_loader import LoaderSpec, as_list
from .reasons import not_translated
from .timm_loaders import reference_batch
from .translate import is_fixed

_ROUNDING = 1e-5  # for floats: torch divides by 255, the engine multiplies by 1 / 255
_MOST_TRIED = 100  # maximum number of samples to try until a good one is found
_COMMON_FACTOR = 50  # maximum 1 / std for which _ROUNDING is enough
# Options of the loader for a comparison, which runs on the CPU and without traces.
_HERE: dict[str, Any] = {"return_index": True, "device": None, "pin_memory": False, "trace": None}
_HERE |= {"resident": False, "decode": "auto", "batch_transform": as_list}
_HERE |= {"cache_dir": None, "cache_dir_limit": None}


@contextlib.contextmanager
def untouched_random_numbers() -> Iterator[None]:
    """Restores the random generators after the `with` block."""
    state = RandomState(gpus=False)
    try:
        yield
    finally:
        state.restore()


def allowed_difference(transforms: list[Transform]) -> float | None:
    """Returns the allowed difference between values, or None if the transforms are random."""
    import PIL

    if not is_fixed(transforms):
        return None
    by_name: dict[str, Any] = {type(transform).__name__: transform for transform in transforms}
    floats = bool({"ToDtype", "Normalize"} & set(by_name))
    rounding, level = (_ROUNDING, 1 / 255) if floats else (0.0, 1.0)
    normalizes: list[Any] = [one for one in transforms if type(one).__name__ == "Normalize"]
    # Normalize multiplies a difference by 1 / std. That is 255 if it restores the range 0..255.
    factor: float = math.prod(1 / min(map(abs, transform.std)) for transform in normalizes)
    level *= factor
    rounding *= max(1.0, factor / _COMMON_FACTOR)
    newer = (
        int(PIL.__version__.split(".")[0]) >= 13
    )  # newer Pillow resizes some images differently: a pixel value may differ by 1
    return rounding + newer * level


def check_first_sample(
    dataloader: Any, spec: LoaderSpec, source: Source, allowed: float | None
) -> None:
    """Compares the first sample: structure, shape, type and label; and pixels, unless the transforms are random.

    If the loader skips or replaces bad samples, compares the first good sample.
    """
    numbers = spec.known.numbers[: 1 if spec.fails_on_error else _MOST_TRIED]
    single = {
        "batch_size": 1,
        "drop_last": False,
        "threads": 1,
        "on_error": "fail",
        "max_bad": None,
    }
    for begin in range(len(numbers)):
        try:
            with spec.loader(source, numbers[begin : begin + 1], **single, **_HERE) as loader:
                _compare_all(dataloader, spec.known, loader, allowed, 1)
            return
        except SampleError:
            if begin + 1 == len(numbers):
                raise


def prove_batches(
    dataloader: Any, spec: LoaderSpec, source: Source, allowed: float | None, batches: int
) -> str:
    """Compares the first batches of the first epoch. Returns the result for the report."""
    known, epochs = spec.known, spec.epochs
    numbers = None
    if epochs.listed:  # compare any samples, because the sampler must not be used before the epoch
        numbers = known.numbers[: batches * epochs.batch_size]
    with spec.loader(source, numbers, **_HERE) as loader:
        count, values, largest = _compare_all(dataloader, known, loader, allowed, batches)
    if allowed is None:
        return (
            f"{count:,} samples of {batches} batches: equal labels, shapes and types; "
            "pixels differ by random transforms"
        )
    return (
        f"{count:,} samples of {batches} batches: equal labels, and {values:,} equal values "
        f"(largest difference {largest:.1e})"
    )


def _compare_all(
    dataloader: Any, known: KnownDataset, loader: Loader, allowed: float | None, batches: int
) -> tuple[int, int, float]:
    """Returns the number of compared samples and values, and the largest difference.

    Raises NotTranslated if a difference exceeds `allowed`.
    """
    import numpy as np

    index_of = np.zeros(known.total, np.int64)
    index_of[known.numbers] = np.arange(len(known.numbers))
    count, values, largest = 0, 0, 0.0
    for images, labels, samples in itertools.islice(loader, batches):
        indices = index_of[np.asarray(samples)].tolist()
        theirs = _of_torch(dataloader, indices, known.parts[0].names)
        for name, ours, expected in zip(("images", "labels"), (images, labels), theirs):
            if ours.shape != expected.shape or ours.dtype != expected.dtype:
                raise not_translated(
                    f"{name} would be {ours.dtype} of shape {tuple(ours.shape)}, and torch's are {expected.dtype} "
                    f"of shape {tuple(expected.shape)}",
                    "end the transforms with ToImage() and ToDtype(torch.float32, scale=True), or ToTensor()",
                )
        if not bool((labels == theirs[1]).all()):
            raise not_translated(
                f"the labels of the samples {indices[:8]} differ", "please report this"
            )
        if allowed is not None:
            largest = max(largest, _difference(images, theirs[0], indices, allowed))
            values += images.numel()
        count += len(indices)
    return count, values, largest


def _of_torch(dataloader: Any, indices: list[int], names: Names) -> Any:
    import torch

    with untouched_random_numbers():
        try:
            samples = [dataloader.dataset[index] for index in indices]
            batch = reference_batch(dataloader, samples)
        except Exception as error:
            text = str(error).splitlines()[0] if str(error) else ""
            what = f"torch itself fails at sample {indices[0]}: {type(error).__name__}: {text}"
            raise not_translated(what, "fix the sample or the transforms") from error
    if names:
        if tuple(batch) != tuple(name for name, _ in names):
            raise not_translated(f"a batch has the columns {list(batch)}", "please report this")
        batch = [batch[name] for name, is_image in sorted(names, key=lambda name: not name[1])]
    if len(batch) != 2 or not all(isinstance(part, torch.Tensor) for part in batch):
        raise not_translated("a sample is not an image and a label", "return an image and a label")
    return batch


def _difference(ours: Any, theirs: Any, indices: list[int], allowed: float) -> float:
    import torch

    apart = (ours.to(torch.float64) - theirs.to(torch.float64)).abs()
    most = float(apart.max()) if apart.numel() else 0.0
    if most > allowed:
        image, channel, y, x = (int(n) for n in torch.nonzero(apart == most)[0][:4])
        raise not_translated(
            f"sample {indices[image]} differs by {most:.4g} in channel {channel}, row {y}, column {x}",
            "please report this; the engine matches the pixels of Pillow 12",
        )
    return most
