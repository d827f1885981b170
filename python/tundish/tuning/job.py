"""The training job to tune (model, optimizer, loss and batches), and how a child process rebuilds it.

Every trial runs in its own process and rebuilds the job there. It imports your `build()` function
from its file, or loads a pickle.
"""

from __future__ import annotations

import inspect
import itertools
import os
import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from .._c.errors import ArgumentError
from .batch_structure import parts_of, signature, tensors_of
from .build_function import locate_function
from .step import Step
from .user_file import import_file

Build = Callable[[], Any]
MOST_BATCHES = 8  # how many batches to take from an iterable: enough to see whether shapes vary


@dataclass
class Job:
    """A training job: a model, its optimizer, its loss function and example batches."""

    model: torch.nn.Module  # the model, on the device to train on
    optimizer: torch.optim.Optimizer  # optimizer of the model's parameters
    loss_fn: Callable[..., torch.Tensor]  # called as loss_fn(model(batch[0]), *batch[1:])
    batches: list[Any]  # example batches on the same device, such as tuples of tensors

    @property
    def shapes_vary(self) -> bool:
        """Whether the batches differ in structure, shapes or element types."""
        return len({signature(batch) for batch in self.batches}) > 1


@dataclass(frozen=True)
class JobSource:
    """Describes how a child process creates its job.

    The child calls `function` from `file`, or loads the file `pickle`. For a pickle, `file` is the
    user's main script, whose classes the pickle may need.
    """

    file: str = ""
    function: str = ""
    pickle: str = ""

    def make(self, seed: int) -> Job:
        set_seeds(seed)
        if self.function:
            build = getattr(import_file(self.file), self.function, None)
            if not callable(build):
                raise ArgumentError(
                    f"{self.file} has no function {self.function}()\n"
                    f"  fix: write a function {self.function}() there that returns model, optimizer, loss_fn, batch"
                )
            where = f"{os.path.basename(self.file)}:{self.function}()"
            check_arguments(build, where)
            return as_job(build(), where)
        if self.file:
            sys.modules["__main__"] = import_file(
                self.file
            )  # classes of the script are found there
        made = torch.load(self.pickle, weights_only=False)
        return as_job(made, "the arguments of tundish.tune")


def set_seeds(seed: int) -> None:
    """Seeds the generators that a build function may use."""
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed)


def as_job(made: Any, where: str) -> Job:
    """Checks the result of a build function. Raises ArgumentError if a part has the wrong type."""
    names = ("model", "optimizer", "loss_fn", "batch")
    if isinstance(made, dict):
        missing = [name for name in names if name not in made]
        if missing:
            raise ArgumentError(
                f"{where} returned a dict without {missing[0]!r}\n"
                f"  fix: return a dict with the keys {', '.join(names)}"
            )
        made = tuple(made[name] for name in names)
    if not isinstance(made, (tuple, list)) or len(made) != 4:
        raise ArgumentError(
            f"{where} returned {_described(made)}, not model, optimizer, loss_fn, batch\n"
            "  fix: end it with: return model, optimizer, loss_fn, batch"
        )
    model, optimizer, loss_fn, batch = made
    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(
            f"{where}: the model is {_described(model)}, not a torch.nn.Module\n"
            "  fix: return in this order: model, optimizer, loss_fn, batch"
        )
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise ArgumentError(
            f"{where}: the optimizer is {_described(optimizer)}, not a torch.optim.Optimizer\n"
            "  fix: return in this order: model, optimizer, loss_fn, batch; the optimizer itself, "
            "not its scheduler or a wrapper"
        )
    if not callable(loss_fn):
        raise ArgumentError(
            f"{where}: loss_fn is {_described(loss_fn)}, not a function\n"
            "  fix: return the function, as in torch.nn.CrossEntropyLoss(), not a loss that it computed"
        )
    job = Job(model, optimizer, loss_fn, list_batches(batch, where))
    check_devices(job, where)
    return job


def check_arguments(build: Build, where: str) -> None:
    try:
        parameters = inspect.signature(build).parameters.values()
    except (TypeError, ValueError):
        return
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for parameter in parameters:
        if parameter.default is inspect.Parameter.empty and parameter.kind not in optional:
            raise ArgumentError(
                f"{where} needs an argument, {parameter.name}; it is called without any\n"
                f"  fix: give {parameter.name} a default, or write a function around it"
            )


def list_batches(batch: Any, where: str) -> list[Any]:
    """Returns a list of batches: the only batch, or the first batches of a list or a loader."""
    out = _first_batches(batch, where)
    for i, example in enumerate(out):
        if not any(True for _ in tensors_of(example)):
            raise ArgumentError(
                f"{where}: batch {i} holds no tensor; it is {_described(example)}\n"
                "  fix: return tensors, as in (inputs, targets); torch.as_tensor() makes them of arrays"
            )
    if not out:
        raise ArgumentError(
            f"{where}: there is no batch in the {type(batch).__name__}\n"
            "  fix: return one batch, as in (inputs, targets), or an iterable of batches"
        )
    return out


def _first_batches(batch: Any, where: str) -> list[Any]:
    if isinstance(batch, (torch.Tensor, tuple)) or parts_of(batch) is not None:
        return [batch]
    if isinstance(batch, list) and any(isinstance(part, torch.Tensor) for part in batch):
        return [batch]  # as torch's default collate returns it: [inputs, targets]
    if not isinstance(batch, Iterable):
        raise ArgumentError(
            f"{where}: the batch is {_described(batch)}\n"
            "  fix: return one batch, as in (inputs, targets), or an iterable of batches"
        )
    return list(itertools.islice(batch, MOST_BATCHES))


def check_devices(job: Job, where: str) -> None:
    parameters = list(job.model.parameters())
    trained = [p for p in parameters if p.requires_grad]
    if not trained:
        raise ArgumentError(
            f"{where}: no parameter of the model requires a gradient, so there is nothing to train\n"
            "  fix: set requires_grad = True on the parameters that are trained"
        )
    device = parameters[0].device
    for i, batch in enumerate(job.batches):
        for tensor in tensors_of(batch):
            if tensor.device != device:
                raise ArgumentError(
                    f"{where}: batch {i} is on {tensor.device}, the model on {device}\n"
                    f'  fix: move the batch, as in inputs.to("{device}")'
                )
    own = {id(p) for p in parameters}
    steps = [p for group in job.optimizer.param_groups for p in group["params"]]
    if any(hasattr(p, "_tundish_owner") for p in steps):
        raise ArgumentError(
            f"{where}: the optimizer has flat parameters, which cannot be tuned\n"
            "  fix: return the model without flatten(), and an optimizer of model.parameters()"
        )
    if not any(id(p) in own for p in steps):
        raise ArgumentError(
            f"{where}: the optimizer trains none of the model's parameters\n"
            "  fix: make the optimizer after the model is complete and on its device"
        )


def source_of(build: Build | str) -> JobSource:
    """Returns the source for a build function, or for a string such as "train.py:build"."""
    if isinstance(build, str):
        file, _, function = build.rpartition(":")
        if not file or not function.isidentifier():
            name = build if build.endswith(".py") else "train.py"
            raise ArgumentError(
                f"{build!r} is not FILE:FUNCTION\n  fix: name the function too, as in {name}:build"
            )
        if not os.path.isfile(file):
            raise ArgumentError(
                f"{file}: no such file\n  fix: name the Python file that has {function}()"
            )
        return JobSource(file=os.path.abspath(file), function=function)
    found, name = locate_function(build)
    return JobSource(file=found, function=name)


def pickled_source(job: Job, path: str) -> JobSource:
    """Pickles model, optimizer, loss and batches to `path`, and returns the source for the pickle.

    All are saved as one object, so that the optimizer and the model still share their parameters
    after loading.
    """
    try:
        torch.save((job.model, job.optimizer, job.loss_fn, job.batches), path)
    except Exception as error:
        raise ArgumentError(
            f"tundish.tune: the model, optimizer, loss_fn and batch cannot be pickled: {error}\n"
            "  fix: pass a function that makes them: tundish.tune(build)"
        ) from error
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    by_name = getattr(sys.modules.get("__main__"), "__spec__", None) is not None  # python -m ...
    return JobSource(file=os.path.abspath(main) if main and not by_name else "", pickle=path)


def _described(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"


def step_and_batch(job: Job | Step, batch: Any) -> tuple[Step, Any]:
    """Returns a step and a batch for it. A Job supplies its first batch; a Step needs `batch`."""
    if isinstance(job, Job):
        step = Step(job.model, job.optimizer, job.loss_fn)
        return step, job.batches[0] if batch is None else batch
    if batch is None:
        raise ArgumentError("a step has no batch\n  fix: pass the batch as second argument")
    return job, batch
