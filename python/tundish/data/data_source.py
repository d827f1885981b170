"""A path with what the bytes behind it do not say; taken wherever a path is."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class DataSource:
    """A data set and what cannot be seen from its bytes.

        source = tundish.DataSource("train.h5", image="photos", label="species")
        loader = tundish.Loader(source, batch_size=64)

    format  the format, where the bytes do not say it: tfrecord, hdf5, ...
    image   name of the array, feature or column that is the image
    label   name of the one that is the label
    axis    axis of the arrays that counts the samples; -1 is the last
    """

    path: str | os.PathLike[str]
    format: str = ""
    image: str = ""
    label: str = ""
    axis: int = 0

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def json(self) -> bytes:
        """As the library takes it."""
        fields = asdict(self)
        del fields["path"]
        return json.dumps(fields).encode()

    def words(self) -> list[str]:
        """As the program takes it."""
        named = {"format": self.format, "image": self.image, "label": self.label}
        words = [f"--{name}={value}" for name, value in named.items() if value]
        return [*words, f"--axis={self.axis}"] if self.axis else words
