"""A path plus details that its data does not contain. Accepted wherever a path is."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class DataSource:
    """The path of a dataset, plus details that cannot be read from the data itself.

        source = tundish.DataSource("train.h5", image="photos", label="species")
        loader = tundish.Loader(source, batch_size=64)

    format  the format (tfrecord, hdf5, ...), if the contents of the file do not identify it
    image   name of the array, feature or column that contains the image
    label   name of the array, feature or column that contains the label
    axis    axis of the arrays that indexes the samples; -1 is the last axis
    """

    path: str | os.PathLike[str]
    format: str = ""
    image: str = ""
    label: str = ""
    axis: int = 0

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def json(self) -> bytes:
        """Returns the fields as JSON for the C library."""
        fields = asdict(self)
        del fields["path"]
        return json.dumps(fields).encode()

    def argv(self) -> list[str]:
        """Returns the fields as command-line options for the program `tundish`."""
        named = {"format": self.format, "image": self.image, "label": self.label}
        options = [f"--{name}={value}" for name, value in named.items() if value]
        return [*options, f"--axis={self.axis}"] if self.axis else options
