"""Advice on what to use instead of a torchvision transform that Tundish lacks."""

from __future__ import annotations

from collections.abc import Iterable

from .._c.close_name import close_name

_NOTHING = "leave it out: batches are tensors"
_DATASET = "tundish.Dataset in torch's DataLoader (docs/transforms.md)"
_OTHERS = f"apply it to the batch in the training loop, or use {_DATASET}"
_BOXES = f"a pack has images and labels, but no boxes or points: use {_DATASET}"
_INSTEAD = {
    "Compose": "pass the Loader a list: transforms=[T.RandomResizedCrop(224), T.Normalize()]; "
    "T.from_torchvision(compose) makes one",
    "Identity": "leave it out",
    "RGB": "leave it out: images are RGB",
    "ToImage": _NOTHING,
    "ToTensor": f"{_NOTHING}, and Normalize or ToDtype(..., scale=True) scales to 0..1",
    "ToPureTensor": _NOTHING,
    "PILToTensor": _NOTHING,
    "ToPILImage": "leave it out: the loader needs no PIL images",
    "ConvertImageDtype": 'use ToDtype("float32", scale=True)',
    "Lambda": f"a function cannot run in the engine: {_OTHERS}",
    "RandomIoUCrop": _BOXES,
    "SanitizeBoundingBoxes": _BOXES,
    "SanitizeKeyPoints": _BOXES,
    "ClampBoundingBoxes": _BOXES,
    "ClampKeyPoints": _BOXES,
    "ConvertBoundingBoxFormat": _BOXES,
    "SetClampingMode": _BOXES,
}


def instead_of(name: str) -> str:
    """Returns the advice for a torchvision transform as a clause, such as "leave it out: ..."."""
    return _INSTEAD.get(name, _OTHERS)


def meant_or_instead(name: str, known: Iterable[str]) -> str:
    """Returns "did you mean ...?" for a misspelled name, otherwise the advice of instead_of()."""
    close = None if name in _INSTEAD else close_name(name, known)
    return f"did you mean {close}?" if close else instead_of(name)
