"""Fingerprint of the job and machine that a plan was made for, to detect a different job or machine."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

import torch

from .batch_structure import tensors_of


@dataclass(frozen=True)
class Fingerprint:
    model: str  # class of the model
    weights: str  # digest of the parameters' names, shapes and types
    parameters: int
    optimizer: str
    batch: list[str]
    device: str
    torch: str
    cudnn: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(values: dict[str, Any]) -> Fingerprint:
        return Fingerprint(**values)


@dataclass(frozen=True)
class FingerprintDifference:
    text: str
    fatal: bool  # True: the plan cannot be applied; False: it should be measured again


def fingerprint_of(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, batch: Any
) -> Fingerprint:
    return Fingerprint(
        model=type(model).__name__,
        weights=digest_of(model),
        parameters=sum(p.numel() for p in model.parameters()),
        optimizer=type(optimizer).__name__,
        batch=[f"{tuple(t.shape)} {t.dtype}".replace("torch.", "") for t in tensors_of(batch)],
        **machine_of(next(model.parameters()).device),
    )


def machine_of(device: torch.device) -> dict[str, str]:
    cuda = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if cuda else device.type,
        "torch": str(torch.__version__),
        "cudnn": str(torch.backends.cudnn.version()) if cuda else "",
    }


def unwrapped(model: Any) -> Any:
    """Returns the model inside torch.compile() and DistributedDataParallel, whose weights have other names."""
    parallel = (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)
    while True:
        inner = model.module if isinstance(model, parallel) else getattr(model, "_orig_mod", None)
        if inner is None:
            return model
        model = inner


def digest_of(model: torch.nn.Module) -> str:
    named = [(n.replace("_orig_mod.", ""), p) for n, p in unwrapped(model).named_parameters()]
    text = ";".join(f"{name} {tuple(p.shape)} {p.dtype}" for name, p in named)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(
    made_for: Fingerprint, model: torch.nn.Module | None, optimizer: Any = None
) -> list[FingerprintDifference]:
    out = []
    if model is not None and digest_of(model) != made_for.weights:
        count = sum(p.numel() for p in model.parameters())
        out.append(
            FingerprintDifference(
                f"the plan's model was {made_for.model} with {made_for.parameters:,} parameters, "
                f"this one is {type(model).__name__} with {count:,}",
                fatal=True,
            )
        )
    if optimizer is not None and type(optimizer).__name__ != made_for.optimizer:
        text = (
            f"the plan's optimizer was {made_for.optimizer}, this one is {type(optimizer).__name__}"
        )
        out.append(FingerprintDifference(text, fatal=True))
    if model is not None:
        device = next(model.parameters()).device
    else:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    for key, now in machine_of(device).items():
        saved = getattr(made_for, key)
        if saved != now:
            word = {"device": "measured on", "torch": "measured with torch", "cudnn": "cuDNN was"}[
                key
            ]
            out.append(
                FingerprintDifference(
                    f"{word} {saved or 'none'}, here it is {now or 'none'}", fatal=False
                )
            )
    return out
