"""Image datasets of Hugging Face's library `datasets`: Arrow files on disk with the images or with their paths.

The dataset's format defines what a sample is: `with_format("torch")`, or the transform given to `set_transform`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

from ..changes.dataset_facts import Identity
from ..reasons import not_translated
from ..translate import is_fixed, leaves, translate, unwrapped
from ..where_defined import where_defined
from .batch_functions import BatchFunction, read_function
from .mapped_files import MappedFiles, places_of
from .parts import ENDINGS, Files, Names, Ranges, absolute, labels_of

_MOST_LOOKED_AT = 100_000  # maximum number of images whose headers are read to find their mode


# Transforms of torchvision v2 that convert an image to a plain tensor.
_MAKES_TENSOR = {"PILToTensor", "ToTensor", "ToPureTensor"}


@dataclass(frozen=True)
class _Format:
    """What a sample contains, and how its image is transformed."""

    names: Names
    image: str  # column of the images
    label: str
    transform: Any
    mode: str | None  # mode of all images; None: each image keeps its own mode


def is_known(dataset: Any) -> bool:
    kind = getattr(sys.modules.get("datasets"), "Dataset", None)
    return kind is not None and isinstance(dataset, kind)


def transform_of(dataset: Any) -> Any:
    """Returns the transform that is currently applied to each image. Raises NotTranslated if it is unknown."""
    return _format_of(dataset).transform


def settings_of(dataset: Any) -> Any:
    """Returns the rows and the format of a dataset, for the detection of changes. Users can change both."""
    rows = Identity(dataset.data), Identity(getattr(dataset, "_indices", None))
    form = dataset.format
    function = (form["format_kwargs"] or {}).get("transform")
    return rows, form["type"], Identity(function), tuple(form["columns"])


def part_of(dataset: Any) -> Files | Ranges:
    """Returns the samples of a dataset. Raises NotTranslated if the engine cannot read them."""
    if type(dataset) is not sys.modules["datasets"].Dataset:
        name = type(dataset).__name__
        raise not_translated(f"{name} derives from datasets.Dataset", "use datasets.Dataset itself")
    return _part(dataset, _format_of(dataset), upright=True)


def part_of_reader(dataset: Any, image: str, label: str) -> Files | Ranges:
    """Returns the samples of a dataset that timm reads: RGB images, not rotated by EXIF. Raises NotTranslated."""
    return _part(dataset, _Format((), image, label, None, "RGB"), upright=False)


def _part(dataset: Any, form: _Format, upright: bool) -> Files | Ranges:
    name = f"Hugging Face dataset ({form.image}, {form.label})"
    rows = _rows_of(dataset)
    labels = labels_of(_column(dataset, form.label, rows).to_numpy(), name)
    images = _Images(_column(dataset, form.image, rows), name)
    mode = form.mode or images.common_mode()
    return images.part(labels, mode, form.names, upright)


# --- the format ----------------------------------------------------------------------------------


def _format_of(dataset: Any) -> _Format:
    kind, columns = dataset.format["type"], list(dataset.format["columns"])
    kinds = {name: type(feature).__name__ for name, feature in dataset.features.items()}
    transform = (dataset.format["format_kwargs"] or {}).get("transform")
    if dataset.format["output_all_columns"] and len(columns) < len(kinds):
        raise not_translated("output_all_columns adds unformatted columns", "leave it out")
    if kind == "torch":
        if dataset.format["format_kwargs"]:
            raise not_translated('with_format("torch") has arguments', "leave them out")
        made: Any = BatchFunction(
            {column: column for column in columns}, _image_of(kinds), _to_levels(), None
        )
    elif kind == "custom" and _is_torchvision(transform):
        made = BatchFunction(
            {column: column for column in columns}, _image_of(kinds), transform, None
        )
        if not is_fixed(translate([transform])):
            raise not_translated(
                "a transform given to set_transform draws once for all images of a batch",
                "use a function that calls it for each image (docs/migrate-from-dataloader.md#hugging-face-datasets)",
                where_defined(transform),
            )
        names = [type(step).__name__ for step in leaves(unwrapped(transform))]
        if _MAKES_TENSOR.intersection(names[:-1]):
            raise not_translated(
                "v2 changes only the first plain tensor of a batch that set_transform gives it",
                "use ToImage() instead of PILToTensor() and ToTensor(), and ToPureTensor() last",
                where_defined(transform),
            )
    elif kind == "custom":
        made = read_function(transform, columns)
    else:
        raise not_translated(
            f"samples are dicts in the format {kind or 'python'}, and torch cannot collate PIL images",
            "use set_transform() (docs/migrate-from-dataloader.md#hugging-face-datasets)",
        )
    if made is None:
        raise not_translated(
            "the function of set_transform has none of the known forms",
            "use one of the two forms in docs/migrate-from-dataloader.md#hugging-face-datasets",
            where_defined(transform),
        )
    return _checked(made, kinds, dataset.features)


def _checked(made: BatchFunction, kinds: dict[str, str], features: Any) -> _Format:
    """Checks that a batch consists of one column of images and one column of labels."""
    image = made.columns[made.image]
    others = [name for name in made.columns if name != made.image]
    if kinds.get(image) != "Image" or not features[image].decode:
        raise not_translated(
            f"the column {image!r} holds no decoded images", "use a column of datasets.Image()"
        )
    label = made.columns[others[0]] if len(others) == 1 else ""
    whole = kinds.get(label) == "ClassLabel" or "int" in str(
        getattr(features.get(label), "dtype", "")
    )
    if not whole or kinds[label] not in ("ClassLabel", "Value"):
        raise not_translated(
            f"a batch has the columns {', '.join(map(repr, made.columns))}",
            "remove all but the images and one column of whole numbers (remove_columns)",
        )
    names = tuple((name, name == made.image) for name in made.columns)
    own = features[image].mode
    if own not in (None, "RGB", "L"):
        raise not_translated(f"the images have the mode {own}", "use RGB or L")
    if own == "L" and made.mode == "RGB":
        raise not_translated("gray images are converted to RGB", 'use datasets.Image(mode="RGB")')
    return _Format(names, image, label, made.transform, made.mode or own)


def _image_of(kinds: dict[str, str]) -> str:
    images = [name for name, kind in kinds.items() if kind == "Image"]
    if len(images) != 1:
        raise not_translated(
            f"the dataset has {len(images)} columns of images", "use one column of images"
        )
    return images[0]


def _to_levels() -> Any:
    """Returns the transform that the format "torch" applies to an image."""
    try:
        from torchvision.transforms import v2
    except ImportError:
        raise not_translated('the format "torch" needs torchvision here', "install it") from None
    return v2.PILToTensor()


def _is_torchvision(transform: Any) -> bool:
    """Returns whether this is a transform of torchvision v2. Only v2 transforms accept a dict."""
    return type(transform).__module__.startswith("torchvision.transforms.v2")


# --- the samples ---------------------------------------------------------------------------------


def _rows_of(dataset: Any) -> Any:
    """Returns the row numbers of the dataset in order, or None for all rows."""
    indices = getattr(dataset, "_indices", None)
    return None if indices is None else indices.column(0).to_numpy()


def _column(dataset: Any, name: str, rows: Any) -> Any:
    """Returns a column of the whole table. Rows are selected later, so that the column stays memory-mapped."""
    column = dataset.data.column(name)
    if column.null_count:
        raise not_translated(
            f"the column {name!r} has {column.null_count:,} empty cells", "fill them"
        )
    return _Chosen(column, rows)


class _Chosen:
    """A column and the selected rows."""

    def __init__(self, column: Any, rows: Any) -> None:
        self.column, self.rows = column, rows

    def to_numpy(self) -> Any:
        return self.choose(self.column.to_numpy())

    def choose(self, values: Any) -> Any:
        return values if self.rows is None else values[self.rows]


class _Images:
    """A column of images: structs with the fields `bytes` and `path`."""

    def __init__(self, chosen: _Chosen, name: str) -> None:
        self._chosen, self._name = chosen, name
        chunks = chosen.column.chunks
        self._bytes = [chunk.field("bytes") for chunk in chunks]
        paths = [path for chunk in chunks for path in chunk.field("path").to_pylist()]
        self._paths = self._of_rows(paths)

    def _of_rows(self, values: list[Any]) -> list[Any]:
        rows = self._chosen.rows
        return values if rows is None else [values[row] for row in rows.tolist()]

    def part(self, labels: Any, mode: str, names: Names, upright: bool) -> Files | Ranges:
        without = sum(binary.null_count for binary in self._bytes)
        if without == sum(map(len, self._bytes)):
            self._check_endings()
            paths = [absolute(path) for path in self._paths]
            root = os.path.commonpath([os.path.dirname(path) for path in paths])
            return Files(self._name, root, paths, labels, mode, names, upright)
        if without:
            raise not_translated(f"{self._name} has images and paths of images", "embed all images")
        return self._ranges(labels, mode, names, upright)

    def _ranges(self, labels: Any, mode: str, names: Names, upright: bool) -> Ranges:
        import numpy as np

        files, found = MappedFiles(), []
        for binary in self._bytes:
            place = places_of(binary, files)
            if place is None:
                raise not_translated(
                    f"{self._name} is in memory",
                    "save_to_disk() and load_from_disk(), or load_dataset() without keep_in_memory",
                )
            found.append(place)
        choose = self._chosen.choose
        offsets, sizes = (choose(np.concatenate([chunk[n] for chunk in found])) for n in (1, 2))
        paths = self._of_rows([path for path, begins, _ in found for _ in begins])
        if not sizes.all():
            raise not_translated(f"{self._name} has images without bytes", "remove them")
        self._check_endings(self._first_bytes)
        return Ranges(self._name, paths, offsets, sizes, labels, mode, names, upright)

    def _check_endings(self, first_bytes: Any = None) -> None:
        """Checks the file endings. For images without a known ending, checks the first bytes."""
        others = [
            number
            for number, path in enumerate(self._paths)
            if not (path or "").lower().endswith(ENDINGS)
        ]
        if first_bytes is not None:
            others = [number for number in others if not first_bytes(number).startswith(_MAGIC)]
        if others:
            raise not_translated(
                f"the engine does not decode image {others[0]} ({self._paths[others[0]]!r}, and {len(others) - 1:,} more)",
                "convert TIFF and PPM files to PNG",
            )

    def _first_bytes(self, number: int) -> bytes:
        return bytes(self._content(number)[:12])

    def _content(self, number: int) -> Any:
        """Returns the bytes of an image without copying them."""
        row = number if self._chosen.rows is None else int(self._chosen.rows[number])
        for binary in self._bytes:
            if row < len(binary):
                return memoryview(binary[row].as_buffer() or b"")
            row -= len(binary)
        raise IndexError(number)

    def common_mode(self) -> str:
        """Returns the mode that all stored images share. Raises NotTranslated if they differ."""
        import io

        from PIL import Image

        advice = (
            'cast_column("image", datasets.Image(mode="RGB")), or .convert("RGB") in the function'
        )
        if len(self._paths) > _MOST_LOOKED_AT:
            raise not_translated(
                "the dataset is too large to check that all images are RGB", advice
            )
        modes: dict[str, int] = {}
        for number, path in enumerate(self._paths):
            content = self._content(number)
            with Image.open(io.BytesIO(content) if len(content) else path) as image:
                modes.setdefault(image.mode, number)
        if len(modes) > 1 or not set(modes) <= {"RGB", "L"}:
            found = ", ".join(f"{mode} (sample {number})" for mode, number in modes.items())
            raise not_translated(f"the images have the modes {found}", advice)
        return next(iter(modes), "RGB")


# First bytes of JPEG, PNG, BMP and GIF. WebP's signature starts later, so a WebP image needs a file ending.
_MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"BM", b"GIF8")
