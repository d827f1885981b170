"""What to use in the place of a transform of torchvision that Tundish does not have."""

from __future__ import annotations

_NOTHING = "leave it out: batches are tensors"
_INSTEAD = {
    "Compose": "give the Loader a list: transforms=[T.RandomResizedCrop(224), T.Normalize()]",
    "ToImage": _NOTHING,
    "ToTensor": f"{_NOTHING}, and Normalize or ToDtype(..., scale=True) scales to 0..1",
    "ToPureTensor": _NOTHING,
    "PILToTensor": _NOTHING,
    "ToPILImage": "leave it out: the loader needs no PIL images",
    "ConvertImageDtype": 'use ToDtype("float32", scale=True)',
}
_OTHERS = (
    "apply it to the batch in the training loop, or use tundish.Dataset in torch's DataLoader "
    "(docs/migrate-from-dataloader.md)"
)


def instead_of(name: str) -> str:
    """An advice, as a clause: "leave it out: ..."."""
    return _INSTEAD.get(name, _OTHERS)
