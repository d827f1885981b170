"""tundish.replace_data_parallel: code written for nn.DataParallel, with one process per GPU."""

from __future__ import annotations

import os
import warnings
from typing import Any

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from .._c.errors import ArgumentError
from .state_keys import accept_data_parallel_keys

_said: set[str] = set()  # messages of this process, each given once


def replace_data_parallel(model: torch.nn.Module, **options: Any) -> torch.nn.Module:
    """The model for training with one process per GPU, instead of nn.DataParallel.

        model = tundish.replace_data_parallel(model)      # a DataParallel, or with some inside
        optimizer = torch.optim.SGD(model.parameters())   # after it, as usual

    Under `tundish run` or torchrun: takes all DataParallel wrappers off, joins the process group
    (NCCL with GPUs, Gloo without; one that exists is used), moves the model to the device of
    LOCAL_RANK, and returns it in a DistributedDataParallel with gradient_as_bucket_view=True.
    `options` are further arguments of DistributedDataParallel, such as find_unused_parameters=True.

    In one process: the plain model on the GPU, or on the CPU; `model.module` is the model itself, so
    that code with `.module` goes on working.

    Checkpoints of all of these load into each other: keys with and without "module." are accepted.
    A warning says, once, what changes: DataParallel splits one batch over the GPUs, while every rank
    here takes a batch of its own.
    """
    _check(model)
    plain, removed = _unwrap(model)
    _warn_of_lost_parts([one for _, one in removed])
    places = [name for name, _ in removed if name]
    environment = _rank_of_environment()
    if not distributed.is_available() or not (environment or distributed.is_initialized()):
        return _alone(plain, places)
    device = _own_device()
    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    _warn_of_batches(removed)
    plain = plain.to(device)
    accept_data_parallel_keys(plain, "", places)
    if not any(one.requires_grad for one in plain.parameters()):
        _say("nothing in the model is trained: it is not wrapped in DistributedDataParallel", 3)
        return _with_module(plain)
    options.setdefault("gradient_as_bucket_view", True)
    if device.type == "cuda":
        options.setdefault("device_ids", [device.index])
    wrapped = DistributedDataParallel(plain, **options)
    accept_data_parallel_keys(wrapped, "module.", places)
    return wrapped


def _check(model: torch.nn.Module) -> None:
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(
            f"replace_data_parallel takes a model (torch.nn.Module), not {type(model).__name__}"
        )
    for name, one in model.named_modules():
        if isinstance(one, DistributedDataParallel):
            where = f"its part {name!r}" if name else "the model"
            raise ArgumentError(
                f"{where} is a DistributedDataParallel already\n"
                "  fix: call replace_data_parallel before, or not at all"
            )


def _unwrap(model: torch.nn.Module) -> tuple[torch.nn.Module, list[tuple[str, Any]]]:
    """The model without DataParallel, and what was taken off: its place ("" is the whole model) and
    the wrapper. A part that is used in two places stays one part."""
    removed: list[tuple[str, Any]] = []

    def inside(one: Any, place: str) -> Any:
        while isinstance(one, torch.nn.DataParallel):
            removed.append((place, one))
            one = one.module
        return one

    plain = inside(model, "")
    seen: set[int] = set()

    def walk(parent: torch.nn.Module, place: str) -> None:
        if id(parent) in seen:
            return
        seen.add(id(parent))
        for name, child in list(parent._modules.items()):
            if child is not None:
                path = f"{place}.{name}" if place else name
                parent._modules[name] = inside(child, path)
                walk(parent._modules[name], path)

    walk(plain, "")
    return plain, removed


def _rank_of_environment() -> bool:
    """Whether a launcher started this process. Half of the variables is a mistake that would hang."""
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    given = [name for name in names if name in os.environ]
    if "RANK" not in given and "WORLD_SIZE" not in given:
        return False
    missing = [name for name in names if name not in os.environ]
    if missing and not distributed.is_initialized():
        raise ArgumentError(
            f"{', '.join(given)} set and {', '.join(missing)} not: the ranks cannot meet\n"
            "  fix: start the script with tundish run train.py"
        )
    return True


def _own_device() -> torch.device:
    """The GPU of this rank; the CPU where there is none."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    count = torch.cuda.device_count()
    local = os.environ.get("LOCAL_RANK", "")
    index = int(local) if local.isdigit() else torch.cuda.current_device()
    if index >= count:
        raise ArgumentError(
            f"LOCAL_RANK is {index}, but {count} GPUs are visible\n"
            f"  fix: tundish run --ranks {count} train.py"
        )
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def _alone(plain: torch.nn.Module, places: list[str]) -> torch.nn.Module:
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    where = "one of the GPUs" if gpus > 1 else "the GPU" if gpus else "the CPU"
    _say(
        f"one process trains on {where}, with the whole batch\n"
        "  fix: for one process per GPU, start the script with: tundish run train.py"
    )
    plain = plain.to("cuda" if gpus else "cpu")
    accept_data_parallel_keys(plain, "", places)
    return _with_module(plain)


def _with_module(plain: torch.nn.Module) -> torch.nn.Module:
    """`model.module`, as DataParallel has it. Not a part of the model: that would be a circle."""
    if not hasattr(plain, "module"):
        object.__setattr__(plain, "module", plain)
    return plain


def _warn_of_batches(removed: list[tuple[str, Any]]) -> None:
    ranks = distributed.get_world_size()
    if distributed.get_rank() != 0 or ranks == 1:
        return
    text = (
        f"DataParallel split one batch over its GPUs; now each of the {ranks} ranks takes a batch of "
        f"its own, so that one step has {ranks} x batch_size samples\n"
        f"  fix: for the same step as before, divide batch_size by {ranks}; and give each rank other\n"
        "       samples (tundish.Loader does; torch's DataLoader needs a DistributedSampler)"
    )
    counts = {len(one.device_ids) for _, one in removed if one.device_ids}
    if counts - {ranks}:
        text += f"\n  note: DataParallel had {max(counts)} GPUs, this run has {ranks} ranks"
    _say(text)


def _warn_of_lost_parts(wrappers: list[Any]) -> None:
    """What a user added to a wrapper goes with it, and that is not done silently."""
    for one in wrappers:
        if type(one) is not torch.nn.DataParallel:
            _say(f"{type(one).__name__}, a class of yours, was taken off with what it added")
        if one._forward_hooks or one._forward_pre_hooks or one._backward_hooks:
            _say("hooks on a DataParallel were taken off with it: register them on its .module")


def _say(text: str, stacklevel: int = 4) -> None:
    """stacklevel: of the caller of replace_data_parallel, whose line the warning shows."""
    if text not in _said:
        _said.add(text)
        warnings.warn(f"replace_data_parallel: {text}", stacklevel=stacklevel)
