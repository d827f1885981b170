"""Image data sets of the library `datasets` that are on disk: Arrow files with the images, or with their paths.

What is in a sample is decided by the data set's format: `with_format("torch")`, or the transform of `set_transform`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

from ..changes.dataset_facts import Identity
from ..reasons import keep
from ..translate import is_fixed, leaves, translate
from ..where_defined import where_defined
from .batch_functions import BatchFunction, read_function
from .mapped_files import MappedFiles, places_of
from .parts import ENDINGS, Files, Names, Ranges, absolute, labels_of

_MOST_LOOKED_AT = 100_000  # images whose header is read to know their mode


# Transforms of v2 that make plain tensors of images.
_MAKES_TENSOR = {"PILToTensor", "ToTensor", "ToPureTensor"}


@dataclass(frozen=True)
class _Format:
    """What a sample is made of."""

    names: Names
    image: str  # the column
    label: str
    transform: Any
    mode: str | None  # None: that of each image


def is_known(dataset: Any) -> bool:
    kind = getattr(sys.modules.get("datasets"), "Dataset", None)
    return kind is not None and isinstance(dataset, kind)


def transform_of(dataset: Any) -> Any:
    """What is done to an image, now. Raises NotTranslated."""
    return _format_of(dataset).transform


def settings_of(dataset: Any) -> Any:
    """Returns the rows and the format of a data set: the user can give it another format."""
    rows = Identity(dataset.data), Identity(getattr(dataset, "_indices", None))
    form = dataset.format
    function = (form["format_kwargs"] or {}).get("transform")
    return rows, form["type"], Identity(function), tuple(form["columns"])


def part_of(dataset: Any) -> Files | Ranges:
    """Raises NotTranslated."""
    if type(dataset) is not sys.modules["datasets"].Dataset:
        name = type(dataset).__name__
        raise keep(f"{name} derives from datasets.Dataset", "datasets.Dataset itself")
    return _part(dataset, _format_of(dataset), upright=True)


def part_of_reader(dataset: Any, image: str, label: str) -> Files | Ranges:
    """Of a data set that timm reads: RGB images as they are stored. Raises NotTranslated."""
    return _part(dataset, _Format((), image, label, None, "RGB"), upright=False)


def _part(dataset: Any, form: _Format, upright: bool) -> Files | Ranges:
    name = f"Hugging Face data set ({form.image}, {form.label})"
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
        raise keep("output_all_columns adds columns as they are", "leave it out")
    if kind == "torch":
        if dataset.format["format_kwargs"]:
            raise keep('with_format("torch") has arguments', "leave them out")
        made: Any = BatchFunction(
            {one: one for one in columns}, _image_of(kinds), _to_levels(), None
        )
    elif kind == "custom" and _is_torchvision(transform):
        made = BatchFunction({one: one for one in columns}, _image_of(kinds), transform, None)
        if not is_fixed(translate([transform])):
            raise keep(
                "a transform given to set_transform draws once for all images of a batch",
                "a function that calls it for each image (docs/migrate-from-dataloader.md#hugging-face-datasets)",
                where_defined(transform),
            )
        names = [type(step).__name__ for step in leaves(transform)]
        if _MAKES_TENSOR.intersection(names[:-1]):
            raise keep(
                "v2 changes only the first plain tensor of a batch that set_transform gives it",
                "ToImage() instead of PILToTensor() and ToTensor(), and ToPureTensor() last",
                where_defined(transform),
            )
    elif kind == "custom":
        made = read_function(transform, columns)
    else:
        raise keep(
            f"samples are dicts in the format {kind or 'of Python'}, and torch cannot collate PIL images",
            "set_transform() (docs/migrate-from-dataloader.md#hugging-face-datasets)",
        )
    if made is None:
        raise keep(
            "the function of set_transform is Python of another form than the known ones",
            "one of the two in docs/migrate-from-dataloader.md#hugging-face-datasets",
            where_defined(transform),
        )
    return _checked(made, kinds, dataset.features)


def _checked(made: BatchFunction, kinds: dict[str, str], features: Any) -> _Format:
    """A batch of one column of images and one of labels."""
    image = made.columns[made.image]
    others = [name for name in made.columns if name != made.image]
    if kinds.get(image) != "Image" or not features[image].decode:
        raise keep(f"the column {image!r} holds no decoded images", "a column of datasets.Image()")
    label = made.columns[others[0]] if len(others) == 1 else ""
    whole = kinds.get(label) == "ClassLabel" or "int" in str(
        getattr(features.get(label), "dtype", "")
    )
    if not whole or kinds[label] not in ("ClassLabel", "Value"):
        raise keep(
            f"a batch has the columns {', '.join(map(repr, made.columns))}",
            "remove all but the images and one column of whole numbers (remove_columns)",
        )
    names = tuple((name, name == made.image) for name in made.columns)
    own = features[image].mode
    if own not in (None, "RGB", "L"):
        raise keep(f"the images have the mode {own}", "RGB or L")
    if own == "L" and made.mode == "RGB":
        raise keep("grey images are converted to RGB", 'datasets.Image(mode="RGB")')
    return _Format(names, image, label, made.transform, made.mode or own)


def _image_of(kinds: dict[str, str]) -> str:
    images = [name for name, kind in kinds.items() if kind == "Image"]
    if len(images) != 1:
        raise keep(f"the data set has {len(images)} columns of images", "one")
    return images[0]


def _to_levels() -> Any:
    """What the format "torch" does to an image."""
    try:
        from torchvision.transforms import v2
    except ImportError:
        raise keep('the format "torch" needs torchvision here', "install it") from None
    return v2.PILToTensor()


def _is_torchvision(transform: Any) -> bool:
    """Only those of v2 take a dict."""
    return type(transform).__module__.startswith("torchvision.transforms.v2")


# --- the samples ---------------------------------------------------------------------------------


def _rows_of(dataset: Any) -> Any:
    """Numbers of the rows that it has, in its order; None: all."""
    indices = getattr(dataset, "_indices", None)
    return None if indices is None else indices.column(0).to_numpy()


def _column(dataset: Any, name: str, rows: Any) -> Any:
    """Of the whole table; rows of it are chosen later, so that it stays where it is mapped."""
    column = dataset.data.column(name)
    if column.null_count:
        raise keep(f"the column {name!r} has {column.null_count:,} empty cells", "fill them")
    return _Chosen(column, rows)


class _Chosen:
    """A column and which of its rows count."""

    def __init__(self, column: Any, rows: Any) -> None:
        self.column, self.rows = column, rows

    def to_numpy(self) -> Any:
        return self.choose(self.column.to_numpy())

    def choose(self, values: Any) -> Any:
        return values if self.rows is None else values[self.rows]


class _Images:
    """A column of {bytes, path}."""

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
        without = sum(one.null_count for one in self._bytes)
        if without == sum(map(len, self._bytes)):
            self._check_endings()
            paths = [absolute(path) for path in self._paths]
            root = os.path.commonpath([os.path.dirname(path) for path in paths])
            return Files(self._name, root, paths, labels, mode, names, upright)
        if without:
            raise keep(f"{self._name} has images and paths of images", "embed all images")
        return self._ranges(labels, mode, names, upright)

    def _ranges(self, labels: Any, mode: str, names: Names, upright: bool) -> Ranges:
        import numpy as np

        files, found = MappedFiles(), []
        for binary in self._bytes:
            place = places_of(binary, files)
            if place is None:
                raise keep(
                    f"{self._name} is in memory",
                    "save_to_disk() and load_from_disk(), or load_dataset() without keep_in_memory",
                )
            found.append(place)
        choose = self._chosen.choose
        offsets, sizes = (choose(np.concatenate([one[n] for one in found])) for n in (1, 2))
        paths = self._of_rows([path for path, begins, _ in found for _ in begins])
        if not sizes.all():
            raise keep(f"{self._name} has images without bytes", "remove them")
        self._check_endings(self._first_bytes)
        return Ranges(self._name, paths, offsets, sizes, labels, mode, names, upright)

    def _check_endings(self, first_bytes: Any = None) -> None:
        """Bytes whose file has no name are looked at."""
        others = [
            number
            for number, path in enumerate(self._paths)
            if not (path or "").lower().endswith(ENDINGS)
        ]
        if first_bytes is not None:
            others = [number for number in others if not first_bytes(number).startswith(_MAGIC)]
        if others:
            raise keep(
                f"the engine does not decode image {others[0]} ({self._paths[others[0]]!r}, nor {len(others) - 1:,} others)",
                "convert TIFF and PPM files to PNG",
            )

    def _first_bytes(self, number: int) -> bytes:
        return bytes(self._content(number)[:12])

    def _content(self, number: int) -> Any:
        """The bytes of an image, where they are."""
        row = number if self._chosen.rows is None else int(self._chosen.rows[number])
        for binary in self._bytes:
            if row < len(binary):
                return memoryview(binary[row].as_buffer() or b"")
            row -= len(binary)
        raise IndexError(number)

    def common_mode(self) -> str:
        """Of the images as they are stored. Raises NotTranslated where they differ."""
        import io

        from PIL import Image

        advice = (
            'cast_column("image", datasets.Image(mode="RGB")), or .convert("RGB") in the function'
        )
        if len(self._paths) > _MOST_LOOKED_AT:
            raise keep("whether all images are RGB is not known", advice)
        modes: dict[str, int] = {}
        for number, path in enumerate(self._paths):
            content = self._content(number)
            with Image.open(io.BytesIO(content) if len(content) else path) as image:
                modes.setdefault(image.mode, number)
        if len(modes) > 1 or not set(modes) <= {"RGB", "L"}:
            found = ", ".join(f"{mode} (sample {number})" for mode, number in modes.items())
            raise keep(f"the images have the modes {found}", advice)
        return next(iter(modes), "RGB")


# JPEG, PNG, BMP, GIF; WebP is known by its second word, so that a name is needed.
_MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"BM", b"GIF8")
