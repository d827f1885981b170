"""A data set or sampler that was changed after accelerate() looked at it: torch would see that, the engine would not."""

from __future__ import annotations

from typing import Any

from .hugging_face_sets import is_known as is_hugging_face
from .hugging_face_sets import settings_of
from .known_sets import Known
from .reasons import NotTranslated
from .translate import translate

# What a sampler has besides its settings.
_OTHERS = ("generator", "epoch", "data_source", "dataset", "sampler")


class Snapshot:
    """What batches depend on; lists of files and arrays by identity and length, the rest by value."""

    def __init__(self, theirs: Any, known: Known, listed: bool) -> None:
        self._theirs, self._known, self._listed = theirs, known, listed
        self._transforms = translate(known.transforms)
        self._settings = self._now()

    def check(self) -> None:
        """Raises RuntimeError when something is not as it was."""
        for name, value in self._now().items():
            if not _same(value, self._settings.get(name)):
                raise _changed(name)
        try:
            now = translate(self._known.transforms)
        except NotTranslated:
            raise _changed("the transforms of the data set") from None
        if now != self._transforms:
            raise _changed("the transforms of the data set")

    def _now(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for number, base in enumerate(self._known.bases):
            for name in ("samples", "data", "targets", "reader"):
                held: Any = getattr(base, name, None)
                length = len(held) if hasattr(held, "__len__") else 0
                out[f"dataset.{name} of part {number}"] = (id(held), length)
            if is_hugging_face(base):
                out[f"dataset.format of part {number}"] = settings_of(base)
            else:
                out[f"dataset.target_transform of part {number}"] = id(base.target_transform)
        batches = self._theirs.batch_sampler
        owners = {"batch_sampler": batches, "sampler": batches.sampler}
        if self._listed:
            del owners["sampler"]  # it is asked anew
        for owner, one in owners.items():
            settings = {key: value for key, value in vars(one).items() if key not in _OTHERS}
            out |= {f"{owner}.{key}": _copied(value) for key, value in settings.items()}
        return out


def _changed(name: str) -> RuntimeError:
    return RuntimeError(
        f"{name} changed after tundish.accelerate() looked at it: call tundish.accelerate() again"
    )


def _copied(value: Any) -> Any:
    if hasattr(value, "clone"):  # weights, indices
        return value.clone()
    return value.copy() if hasattr(value, "copy") else value


def _same(one: Any, other: Any) -> bool:
    equal = one == other
    return bool(equal.all()) if hasattr(equal, "all") else bool(equal)
