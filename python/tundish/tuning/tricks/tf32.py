"""TF32: Tensor Cores multiply fp32 numbers with a 10-bit mantissa."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from .trick import Grade, Trick

if TYPE_CHECKING:
    from ..step import Step


@dataclass(frozen=True)
class TF32(Trick):
    """Turns on TF32: Tensor Cores multiply fp32 numbers with a 10-bit mantissa."""

    name = "tf32"
    title = "TF32"
    grade = Grade.STATISTICAL

    def obstacle(self, step: Step) -> str:
        if step.device.type != "cuda":
            return "needs a GPU"
        if torch.cuda.get_device_capability(step.device) < (8, 0):
            return "needs a GPU of compute capability 8.0 or later"
        return ""

    def apply(self, step: Step) -> None:
        step.kept["tf32"] = Flags()
        set_flags(True, True)

    def undo(self, step: Step) -> None:
        step.kept.pop("tf32").restore()

    def code(self) -> list[str]:
        return [
            "torch.backends.cuda.matmul.allow_tf32 = True",
            "torch.backends.cudnn.allow_tf32 = True",
        ]


class Flags:
    """A snapshot of torch's TF32 flags, under their older and their newer names.

    The newer flags are named `fp32_precision`. The value "none" inherits the setting of the enclosing
    backend. If an older flag contradicts the newer one, torch refuses to read it. The older flag then
    has the opposite value.
    """

    def __init__(self) -> None:
        self._newer: list[tuple[Any, str]] = []
        for owner in (*_owners_above(), *_owners()):
            self._newer.append((owner, owner.fp32_precision))
            owner.fp32_precision = "none"  # so that the backends inside show their own setting
        self._restore_newer()
        self._older = [_older(read, owners) for read, owners in _OLDER]

    def restore(self) -> None:
        _set_older(*self._older)
        self._restore_newer()

    def _restore_newer(self) -> None:
        for owner, precision in self._newer:
            owner.fp32_precision = precision


def flags() -> tuple[bool, bool]:
    """Returns whether TF32 is on for matrix products and for convolutions."""
    if owners := _owners():
        products, convolutions, *_ = (owner.fp32_precision == "tf32" for owner in owners)
        return products, convolutions
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that these flags have been renamed
        return torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32


def set_flags(products: bool, convolutions: bool) -> None:
    _set_older(products, convolutions)
    for owner, on in zip(_owners(), (products, convolutions, convolutions)):
        owner.fp32_precision = "tf32" if on else "ieee"  # "none" would inherit a setting


def _set_older(products: bool, convolutions: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.backends.cuda.matmul.allow_tf32 = products
        torch.backends.cudnn.allow_tf32 = convolutions


_OLDER: tuple[tuple[Callable[[], bool], slice], ...] = (
    (lambda: torch.backends.cuda.matmul.allow_tf32, slice(0, 1)),
    (lambda: torch.backends.cudnn.allow_tf32, slice(1, 3)),
)


def _older(read: Callable[[], bool], owners: slice) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read()
    except RuntimeError:
        return not all(owner.fp32_precision == "tf32" for owner in _owners()[owners])


def _owners() -> list[Any]:
    """Returns the objects with the newer flags: matrix products, convolutions, recurrent layers.

    Returns an empty list if torch is too old to have these flags.
    """
    cudnn = torch.backends.cudnn
    found = [torch.backends.cuda.matmul, getattr(cudnn, "conv", None), getattr(cudnn, "rnn", None)]
    return found if all(hasattr(owner, "fp32_precision") for owner in found) else []


def _owners_above() -> list[Any]:
    above = [torch.backends, torch.backends.cudnn]
    return [owner for owner in above if hasattr(owner, "fp32_precision")] if _owners() else []
