"""Datasets that the engine can read, and torch's wrappers Subset and ConcatDataset around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..changes.dataset_facts import Identity, contents
from ..reasons import not_translated
from ..where_defined import where_defined
from . import (
    hugging_face_datasets as hugging_face_sets,
)
from . import (
    timm_datasets as timm_sets,
)
from . import (
    torchvision_datasets as torchvision_sets,
)
from .parts import Part, Pixels, by_index, check_package


@dataclass(frozen=True)
class KnownDataset:
    """A dataset that selects samples from a concatenation of parts."""

    parts: list[Part]
    numbers: Any  # int64: position of each sample in the concatenated parts; may repeat
    bases: list[Any]  # the dataset behind each part

    @property
    def transforms(self) -> list[Any]:
        return [
            hugging_face_sets.transform_of(base)
            if hugging_face_sets.is_known(base)
            else base.transform
            for base in self.bases
        ]

    @property
    def total(self) -> int:
        return sum(map(len, self.parts))

    @property
    def is_whole(self) -> bool:
        """Whether the dataset contains every sample of the parts exactly once, in order."""
        import numpy as np

        return len(self.numbers) == self.total and bool(
            (self.numbers == np.arange(self.total)).all()
        )


def recognize_dataset(dataset: Any) -> KnownDataset:
    """Returns the parts of a dataset. Raises NotTranslated for an unknown dataset."""
    bases: list[tuple[Any, Part]] = []
    numbers = _numbers(dataset, bases)
    if len(numbers) == 0:
        raise not_translated("the dataset has no samples", "add samples")
    parts = [part for _, part in bases]
    if (
        len({isinstance(part, Pixels) for part in parts}) > 1
        or len({part.mode for part in parts}) > 1
    ):
        raise not_translated(
            "ConcatDataset of files and arrays, or of colors and grays", "use one loader per kind"
        )
    if len({(part.names, part.upright) for part in parts}) > 1:
        raise not_translated(
            "the parts of ConcatDataset return different samples", "use one loader per kind"
        )
    return KnownDataset(parts, numbers, [base for base, _ in bases])


def _numbers(dataset: Any, bases: list[tuple[Any, Part]]) -> Any:
    """Returns the position of each sample in the concatenated parts. Appends new parts to `bases`."""
    import numpy as np
    from torch.utils.data import ConcatDataset, Subset

    if type(dataset) in (Subset, ConcatDataset) and "__getitems__" in vars(dataset):
        raise not_translated(
            f"{type(dataset).__name__} overrides __getitems__",
            "leave it out",
            where_defined(vars(dataset)["__getitems__"]),
        )
    if type(dataset) is Subset:
        check_package(Subset.__getitem__)
        check_package(Subset.__getitems__)
        inner = _numbers(dataset.dataset, bases)
        chosen = np.asarray(by_index(dataset.indices))
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
            raise not_translated(
                "the indices of Subset are not whole numbers", "use a flat list of whole numbers"
            )
        if not fits(chosen, len(inner)):
            raise not_translated("an index of Subset is out of range", "use indices of its dataset")
        return inner[chosen.astype(np.int64)]
    if type(dataset) is ConcatDataset:
        check_package(ConcatDataset.__getitem__)
        inner = [_numbers(part, bases) for part in dataset.datasets]
        if list(dataset.cumulative_sizes) != np.cumsum([len(part) for part in inner]).tolist():
            raise not_translated(
                "the datasets of ConcatDataset were changed after it was made",
                "create the ConcatDataset again",
            )
        return np.concatenate(inner)
    begin = 0
    for base, part in bases:
        if base is dataset:
            return begin + np.arange(len(part))
        begin += len(part)
    part = _part_of(dataset)
    bases.append((dataset, part))
    return begin + np.arange(len(part))


def fits(indices: Any, count: int) -> bool:
    """Returns whether all indices are valid for a list of `count` elements."""
    return not indices.size or (int(indices.max()) < count and int(indices.min()) >= -count)


def add_facts(out: dict[str, Any], dataset: Any) -> None:
    """Adds the facts that determine the samples of a known dataset, by attribute name. Leaves out transforms."""
    _add_facts(out, dataset, "dataset", set())


def _add_facts(out: dict[str, Any], dataset: Any, name: str, seen: set[int]) -> None:
    """Adds the facts of one dataset. `seen` contains the ids of datasets that were added under another name."""
    from torch.utils.data import ConcatDataset, Subset

    out[name] = Identity(dataset)
    if id(dataset) in seen:
        return
    seen.add(id(dataset))
    out[f"{name}.__getitems__"] = vars(dataset).get("__getitems__")
    if type(dataset) is Subset:
        out[f"{name}.indices"] = contents(dataset.indices)
        _add_facts(out, dataset.dataset, f"{name}.dataset", seen)
    elif type(dataset) is ConcatDataset:
        out[f"{name}.cumulative_sizes"] = list(dataset.cumulative_sizes)
        out[f"len({name}.datasets)"] = len(dataset.datasets)
        for number, part in enumerate(dataset.datasets):
            _add_facts(out, part, f"{name}.datasets[{number}]", seen)
    elif hugging_face_sets.is_known(dataset):
        out[f"{name}.format"] = hugging_face_sets.settings_of(dataset)
    else:
        found = timm_sets.facts_of(dataset) or torchvision_sets.facts_of(dataset)
        out |= {f"{name}.{key}": value for key, value in found.items()}
        out[f"{name}.target_transform"] = Identity(dataset.target_transform)
        out[f"{name}.__getitem__"] = type(dataset).__getitem__


def _part_of(dataset: Any) -> Part:
    if hugging_face_sets.is_known(dataset):
        return hugging_face_sets.part_of(dataset)
    part = torchvision_sets.part_of(dataset) or timm_sets.part_of(dataset)
    if part is None:
        raise not_translated(
            f"{type(dataset).__name__} is a custom dataset",
            "tundish.pack(dataset, 'train.tnd') and tundish.Loader, if it returns images and labels "
            "(docs/sources.md)",
            where_defined(dataset),
        )
    return part
