"""tundish.replace_data_parallel: runs nn.DataParallel code with one process per GPU."""

from __future__ import annotations

import os
import warnings
from typing import Any

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from .._c.errors import ArgumentError
from .state_keys import accept_data_parallel_keys

_shown_warnings: set[str] = set()  # messages already shown in this process


def replace_data_parallel(model: torch.nn.Module, **options: Any) -> torch.nn.Module:
    """Replaces nn.DataParallel so that the model trains with one process per GPU.

        model = tundish.replace_data_parallel(model)      # a DataParallel, or a model that contains some
        optimizer = torch.optim.SGD(model.parameters())   # create the optimizer afterwards

    Under `tundish run` or torchrun, the function removes all DataParallel wrappers and joins the
    process group (NCCL with GPUs, Gloo without; an existing group is used). It moves the model to
    the device of LOCAL_RANK and returns it in a DistributedDataParallel with
    gradient_as_bucket_view=True. `options` are passed to DistributedDataParallel, for example
    find_unused_parameters=True.

    In a single process, the function returns the plain model on the GPU, or on the CPU without one.
    `model.module` is the model itself, so code that uses `.module` keeps working.

    Checkpoints are interchangeable: keys with and without "module." are accepted. A warning
    explains the main change once: DataParallel splits one batch over the GPUs, whereas here every
    rank loads a batch of its own.
    """
    _check(model)
    plain, places, removed = _unwrap(model)
    _warn_about_wrappers(removed)
    environment = _has_rank_variables()
    if not distributed.is_available() or not (environment or distributed.is_initialized()):
        return _single_process_model(plain, places)
    device = _rank_device()
    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    _warn_about_batch_size(removed)
    plain = plain.to(device)
    accept_data_parallel_keys(plain, "", places)
    if not any(parameter.requires_grad for parameter in plain.parameters()):
        _warn_once(
            "no parameter requires a gradient: the model is not wrapped in DistributedDataParallel",
            3,
        )
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
    for name, module in model.named_modules():
        if isinstance(module, DistributedDataParallel):
            where = f"its module {name!r}" if name else "the model"
            raise ArgumentError(
                f"{where} already is a DistributedDataParallel\n"
                "  fix: call replace_data_parallel before wrapping, or not at all"
            )
        if isinstance(module._modules.get("_orig_mod"), torch.nn.DataParallel):
            raise ArgumentError(
                "a DataParallel was compiled, and the compiled code would go on calling it\n"
                "  fix: call replace_data_parallel before torch.compile"
            )


def _unwrap(model: torch.nn.Module) -> tuple[torch.nn.Module, list[str], list[Any]]:
    """Returns the model without DataParallel, the path of each wrapper inside it, and all wrappers.

    A module used in two places stays a single module; the wrappers inside it have two paths each.
    """
    removed: list[Any] = []
    known: dict[int, list[str]] = {}  # paths of the wrappers below a module, by its id

    def strip(module: Any) -> tuple[Any, int]:
        count = 0
        while isinstance(module, torch.nn.DataParallel):
            removed.append(module)
            module, count = module.module, count + 1
        return module, count

    def walk(parent: torch.nn.Module) -> list[str]:
        if id(parent) in known:
            return known[id(parent)]
        found = known[id(parent)] = []
        for name, child in list(parent._modules.items()):
            if child is not None:
                parent._modules[name], count = strip(child)
                below = walk(parent._modules[name])
                found += [name] * count + [f"{name}.{path}" for path in below]
        return found

    plain, _ = strip(model)
    return plain, walk(plain), removed


def _has_rank_variables() -> bool:
    """Returns whether a launcher started this process.

    Raises an error for incomplete variables, with which the process group would hang.
    """
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    given = [name for name in names if name in os.environ]
    if "RANK" not in given and "WORLD_SIZE" not in given:
        return False
    missing = [name for name in names if name not in os.environ]
    if missing and not distributed.is_initialized():
        raise ArgumentError(
            f"{', '.join(given)} set but {', '.join(missing)} missing: the ranks cannot find each other\n"
            "  fix: start the script with tundish run train.py"
        )
    return True


def _rank_device() -> torch.device:
    """Returns the GPU of this rank, or the CPU without a GPU."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    count = torch.cuda.device_count()
    local = os.environ.get("LOCAL_RANK", "")
    index = int(local) if local.isdigit() else torch.cuda.current_device()
    if index >= count:
        raise ArgumentError(
            f"LOCAL_RANK is {index}, but only {count} GPUs are visible\n"
            f"  fix: tundish run --ranks {count} train.py"
        )
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def _single_process_model(plain: torch.nn.Module, places: list[str]) -> torch.nn.Module:
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    where = "one of the GPUs" if gpus > 1 else "the GPU" if gpus else "the CPU"
    _warn_once(
        f"one process trains on {where}, with the whole batch\n"
        "  fix: for one process per GPU, start the script with: tundish run train.py"
    )
    plain = plain.to("cuda" if gpus else "cpu")
    accept_data_parallel_keys(plain, "", places)
    return _with_module(plain)


def _with_module(plain: torch.nn.Module) -> torch.nn.Module:
    """Makes `model.module` refer to the model itself, for code that was written for DataParallel.

    The attribute is not a registered submodule, which would form a cycle.
    """
    if not hasattr(plain, "module"):
        object.__setattr__(plain, "module", plain)
    return plain


def _warn_about_batch_size(removed: list[Any]) -> None:
    ranks = distributed.get_world_size()
    if distributed.get_rank() != 0 or ranks == 1:
        return
    text = (
        f"DataParallel split one batch over its GPUs; now each of the {ranks} ranks takes its own batch, "
        f"so one step has {ranks} x batch_size samples\n"
        f"  fix: for the same step as before, divide batch_size by {ranks}, and give each rank different\n"
        "       samples (tundish.Loader does; torch's DataLoader needs a DistributedSampler)"
    )
    counts = {len(wrapper.device_ids) for wrapper in removed if wrapper.device_ids}
    if counts - {ranks}:
        text += f"\n  note: DataParallel had {max(counts)} GPUs, this run has {ranks} ranks"
    _warn_once(text)


def _warn_about_wrappers(wrappers: list[Any]) -> None:
    """Warns that the code and the hooks that the user added to a wrapper were removed with it."""
    for wrapper in wrappers:
        if type(wrapper) is not torch.nn.DataParallel:
            _warn_once(f"removed {type(wrapper).__name__}, your subclass, with the code it added")
        if wrapper._forward_hooks or wrapper._forward_pre_hooks or wrapper._backward_hooks:
            _warn_once("removed hooks together with a DataParallel: register them on its .module")


def _warn_once(text: str, stacklevel: int = 4) -> None:
    """Shows a warning once per process.

    `stacklevel` must reach the caller of replace_data_parallel.
    """
    if text not in _shown_warnings:
        _shown_warnings.add(text)
        warnings.warn(f"replace_data_parallel: {text}", stacklevel=stacklevel)
