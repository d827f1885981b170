"""A Python dataset prepared for packing: the structure of its samples, and access to them."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import sys
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._c.errors import ArgumentError, Error, new_error
from . import messages
from .dataset_schema import describe
from .hugging_face import (
    class_names,
    is_hugging_face,
    warn_of_turned_images,
    without_decoding,
)
from .layout import Layout
from .sample_fields import IMAGE, LABEL
from .serve import Answers, answers_by_number, answers_in_order, encoded, exception_text
from .snapshot import snapshot

_PROBES = 16
_FOREIGN_NAMES = (
    "the labels have no names: the names in the attribute `classes` of the wrapped {name} are not used, because the "
    "wrapper may change its labels. If they fit, give classes="
)


class SampleSet:
    """Wraps a dataset for packing. `count` is the number of samples, or None for an iterator."""

    def __init__(
        self,
        dataset: Any,
        *,
        image: str = "",
        label: str = "",
        classes: Sequence[str] | None = None,
        identity: str | None = None,
        same_shape: bool | None = None,
    ) -> None:
        self.name = getattr(dataset, "__name__", type(dataset).__name__)
        if is_hugging_face(dataset):
            dataset = without_decoding(dataset)
        self.count = _count(dataset)
        self.dataset = dataset
        started = time.perf_counter()
        if self.count is None:
            self._samples = iter(dataset)
            probes = self._first_samples()
        else:
            probes = _spread_samples(dataset, self.count)
        self.seconds_each = (time.perf_counter() - started) / len(probes)
        good = [sample for _, sample in probes if not isinstance(sample, _Failed)]
        known = _classes(dataset) if classes is None else classes
        self.layout, names = describe(
            good, image=image, label=label, classes=known, same_shape=same_shape
        )
        if is_hugging_face(dataset):
            warn_of_turned_images(good)
            names = _names_of_label(dataset, self.layout) if classes is None else names
        self.description = messages.description(
            self.layout.fields, names, self.count, identity or _digest(self.layout, probes)
        )
        self.has_jpegs = _has_jpegs(self.layout, good)

    def answers(self) -> Answers:
        """Returns the function that answers requests in this process. Call it only once for an iterator."""
        if self.count is None:
            return answers_in_order(self._samples, self.layout)
        return answers_by_number(self.dataset, self.layout)

    def _first_samples(self) -> list[tuple[int, Any]]:
        try:
            # An iterator may yield the same array object each time, with new contents.
            taken = [snapshot(sample) for sample in itertools.islice(self._samples, _PROBES)]
        except Exception:
            raise _raised(0, exception_text()) from None
        if not taken:
            raise _empty(self.name)
        self._samples = itertools.chain(taken, self._samples)
        return list(enumerate(taken))


class _Failed:
    """Placeholder for a sample that could not be read. `text` is the traceback."""

    def __init__(self, text: str) -> None:
        self.text = text


def _count(dataset: Any) -> int | None:
    """Returns the number of samples, or None for a dataset that can only be iterated."""
    if isinstance(dataset, Mapping):
        raise ArgumentError("a dict is a single sample; pass a list of samples or a dataset")
    if any(kind.__name__ == "DataLoader" for kind in type(dataset).__mro__):
        raise ArgumentError(
            "a DataLoader yields batches, which are not samples\n  fix: pass its dataset, without augmentation"
        )
    if isinstance(dataset, bytes):
        raise ArgumentError("bytes are not a dataset; pass a file name as a str or a Path")
    kinds = {kind.__name__ for kind in type(dataset).__mro__}
    by_number = hasattr(dataset, "__getitem__") and "IterableDataset" not in kinds
    if by_number and hasattr(dataset, "__len__"):
        count = len(dataset)
        if count == 0:
            raise _empty(type(dataset).__name__)
        if count > messages.MAX_SAMPLES:
            raise ArgumentError(f"{count:,} samples, at most {messages.MAX_SAMPLES:,} are allowed")
        return count
    if isinstance(dataset, Iterable):
        return None
    raise ArgumentError(
        f"{type(dataset).__name__} is not a dataset: it needs __len__ and __getitem__, or __iter__"
    )


def _spread_samples(dataset: Any, count: int) -> list[tuple[int, Any]]:
    """Returns the first, the last and some samples in between. Unreadable samples are refused later."""
    numbers = sorted({k * (count - 1) // max(1, _PROBES - 1) for k in range(_PROBES)})
    probes = []
    for number in numbers:
        try:
            probes.append((number, snapshot(dataset[number])))
        except Exception:
            probes.append((number, _Failed(exception_text())))
    if all(isinstance(sample, _Failed) for _, sample in probes):
        raise _raised(0, probes[0][1].text)
    return probes


def _digest(layout: Layout, probes: list[tuple[int, Any]]) -> str:
    """Returns a digest of some samples, by which an interrupted pack recognizes its dataset."""
    digest = hashlib.blake2b(digest_size=16)
    for number, sample in probes:
        data = b"?"
        if not isinstance(sample, _Failed):
            # A Pillow image of a damaged file is refused later.
            with contextlib.suppress(Exception):
                data = encoded(layout, number, sample)[1]
        digest.update(number.to_bytes(8, "little") + len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def _classes(dataset: Any) -> Sequence[str]:
    """Returns the class names of torchvision's datasets, even inside torch's Subset.

    Any other wrapper may change the labels, so the names are not used.
    """
    is_own = True
    for _ in range(10):
        names = getattr(dataset, "classes", None)
        if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
            if not is_own:
                warnings.warn(_FOREIGN_NAMES.format(name=type(dataset).__name__), stacklevel=6)
            return names if is_own else ()
        is_own = is_own and _is_subset(dataset)
        dataset = getattr(dataset, "dataset", None)
    return ()


def _is_subset(dataset: Any) -> bool:
    subset = getattr(sys.modules.get("torch.utils.data"), "Subset", None)
    return subset is not None and type(dataset) is subset


def _names_of_label(dataset: Any, layout: Layout) -> list[str]:
    known = class_names(dataset)
    return next((known.get(field.name, []) for field in layout.fields if field.type == LABEL), [])


def _has_jpegs(layout: Layout, samples: Sequence[Any]) -> bool:
    """Returns whether any of these samples has a JPEG. If not, no samples are read to choose JPEG tables."""
    place = next((i for i, field in enumerate(layout.fields) if field.type == IMAGE), -1)
    if place < 0:
        return False
    for sample in samples:
        try:
            data = layout.encode(sample)
        except Exception:  # the sample is refused later
            continue
        if b"\xff\xd8\xff" in data:
            return True
    return False


def _empty(name: str) -> Error:
    return new_error(302, f"TND-302 {name}: has no samples")


def _raised(number: int, text: str) -> Error:
    return new_error(
        319,
        f"TND-319 raised an exception for a sample: sample {number}: no sample could be read{text}",
    )
