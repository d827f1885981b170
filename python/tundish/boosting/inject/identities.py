"""Describes models, optimizers and loaders so that another run of the script recognizes them."""

from __future__ import annotations

import contextlib
import hashlib
from types import FrameType
from typing import Any

from ..._process.code_origin import framework_name, is_own_file
from ...diagnosis.probe.loaders.loader_facts import batch_size
from .request import LoaderIdentity, ModelIdentity, OptimizerIdentity

_EVALUATING = ("evaluat", "validat", "predict")  # in names of a framework's functions


def model_identity(module: Any) -> ModelIdentity:
    named = list(module.named_parameters())
    text = ";".join(f"{name} {tuple(p.shape)} {p.dtype}" for name, p in named)
    return ModelIdentity(
        name=class_name(module),
        digest=_digest(text),
        parameters=sum(p.numel() for _, p in named),
        device=next((p.device.type for _, p in named), "cpu"),
    )


def optimizer_identity(optimizer: Any) -> OptimizerIdentity:
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    return OptimizerIdentity(class_name(optimizer), sum(p.numel() for p in parameters))


def loader_identity(loader: Any, frame: FrameType | None) -> LoaderIdentity:
    dataset = getattr(loader, "dataset", None)
    samples = -1
    with contextlib.suppress(Exception):  # an iterable dataset has no length
        samples = len(dataset)  # type: ignore[arg-type]
    return LoaderIdentity(
        dataset=class_name(dataset),
        samples=samples,
        batch_size=batch_size(loader) or 0,
        sampler=class_name(_sampler(loader)),
        stack=_stack_digest(frame),
    )


def _sampler(loader: Any) -> Any:
    """Returns what draws the order. A loader of Accelerate has another sampler, which is not used."""
    inner = getattr(getattr(loader, "batch_sampler", None), "sampler", None)
    return inner if inner is not None else getattr(loader, "sampler", None)


def class_name(value: Any) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _stack_digest(frame: FrameType | None) -> str:
    """Frameworks only count as training or evaluating: they iterate each epoch from other functions."""
    functions = []
    evaluates = False
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        if framework_name(code.co_filename):
            evaluates |= any(word in name.lower() for word in _EVALUATING)
        elif not is_own_file(code.co_filename) and "(importlib._bootstrap)" not in code.co_filename:
            functions.append(name)
        frame = frame.f_back
    return _digest("\n".join([*functions, "evaluation" * evaluates]))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
