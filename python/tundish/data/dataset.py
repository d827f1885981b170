"""A dataset that returns single samples by index, for torch's own DataLoader or a notebook."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

from .._c.errors import new_error
from .._c.library import lib
from .._c.tensor import Tensor
from .open_source import Paths, Source, plain_paths
from .settings import argument_checks as checks

# A Dataset without labels is often meant; one that lost its labels is not (data/source/field_names.cpp).
_NO_LABEL_TO_LOSE = "no whole number per sample that could be one"


class Dataset:
    """A map-style dataset of images and labels, for torch.utils.data.DataLoader or a notebook.

    `Dataset("train.tnd")[i]` returns (image, label). The image is a uint8 array of shape (H, W, 3).
    `transform` is applied to the array, and `target_transform` to the label.

    `mode` selects the image format, as in the Loader. With "L", an image is a uint8 array of shape
    (H, W); with "I;16", a uint16 array of shape (H, W); with "RGBA", a uint8 array of shape (H, W, 4).

    Worker processes may be forked or spawned. Pickling saves the path, not the data. Unpickling
    raises an error (TND-603) if the path now holds different data.
    """

    def __init__(
        self,
        path: Paths,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        exif_orientation: bool = False,
        mode: str = "RGB",
    ) -> None:
        self.path = plain_paths(path)
        self.transform = transform
        self.target_transform = target_transform
        self.exif_orientation = exif_orientation
        self.mode = checks.mode(mode)
        self._source = Source(self.path)
        self._labels = self._source.labels()
        for text in self._source.warnings:
            if _NO_LABEL_TO_LOSE not in text:
                warnings.warn(text, stacklevel=2)

    def __len__(self) -> int:
        """Returns the number of samples."""
        return self._source.count

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Returns the image and the label of one sample. Raises tundish.SampleError for a bad sample."""
        import numpy as np

        number = operator.index(index)
        if number < 0:
            number += len(self)
        if not 0 <= number < len(self):
            raise IndexError(f"{self.path} has {len(self):,} samples; there is no sample {index:,}")
        mode = self.mode.encode()
        handle = lib.tundish_source_image(self._source.handle, number, self.exif_orientation, mode)
        image: Any = np.asarray(Tensor(handle))
        label: Any = int(self._labels[number])
        if self._source.label_vectors:
            label = self._source.label_vector(number)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label

    @property
    def classes(self) -> list[str]:
        """Names of the labels 0, 1, ...; empty if the labels have no names."""
        return self._source.classes

    @property
    def targets(self) -> list[int]:
        """Labels of all samples, as in torchvision's datasets. Raises ValueError if the labels are vectors."""
        if self._source.label_vectors:
            raise ValueError(f"the labels of {self.path} are vectors: use dataset[i][1]")
        return [int(label) for label in self._labels]

    def __repr__(self) -> str:
        return (
            f"tundish.Dataset({self.path!r}): {len(self):,} samples, {len(self.classes):,} classes"
        )

    def __getstate__(self) -> dict[str, Any]:
        held = {k: v for k, v in self.__dict__.items() if k not in ("_source", "_labels")}
        return {**held, "_fingerprint": self._source.fingerprint}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        was = self.__dict__.pop("_fingerprint", None)  # None in pickles of older versions
        self._source = Source(self.path)
        if was is not None:
            self._check_unchanged(was, "was pickled", "create the tundish.Dataset again")
        self._labels = self._source.labels()

    def _check_unchanged(self, fingerprint: str, what: str, fix: str) -> None:
        """Raises an error if the path leads to other data than the data with this fingerprint."""
        if fingerprint != self._source.fingerprint:
            raise new_error(
                603,
                f"TND-603 cannot continue from this state: {self.path} is not the dataset that "
                f"{what}: it was replaced, or the path is in another folder\n  fix: {fix}",
            )
