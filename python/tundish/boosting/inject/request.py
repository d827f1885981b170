"""What a boosted process has to do: the changes to make, and the objects to make them on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

VARIABLE = "TUNDISH_BOOST"  # path of a file: a request, or the result of a search (boost.json)


@dataclass(frozen=True)
class ModelIdentity:
    """A module that the training loop calls. `digest`: names, shapes and types of its parameters."""

    name: str  # module and class
    digest: str
    parameters: int
    device: str


@dataclass(frozen=True)
class OptimizerIdentity:
    name: str
    elements: int  # of all parameters


@dataclass(frozen=True)
class LoaderIdentity:
    """The DataLoader that feeds the training.

    `stack` is a digest of the functions on the stack that iterates the loader, without lines, so
    that an edit elsewhere in the script does not change it.
    """

    dataset: str
    samples: int
    batch_size: int
    sampler: str
    stack: str


@dataclass(frozen=True)
class Change:
    """A change by name: "accelerate", "channels_last", "bf16", ... `value`: its option, or ""."""

    name: str
    value: str = ""


@dataclass(frozen=True)
class Request:
    changes: list[Change] = field(default_factory=list)
    models: list[ModelIdentity] = field(default_factory=list)
    optimizers: list[OptimizerIdentity] = field(default_factory=list)
    loader: LoaderIdentity | None = None
    gpu: str = ""  # name of the GPU that the changes were measured on
    # Folder for what was found and done; "" prints one line instead.
    facts_folder: str = ""
    source: str = ""  # the result file, for messages
    fallback: bool = True  # continue without a change that fails; a trial fails instead

    def value_of(self, name: str) -> str | None:
        """Returns the option of a change, or None if the change is not requested."""
        return next((change.value for change in self.changes if change.name == name), None)

    def write(self, path: str) -> None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)


def read_request(path: str) -> Request:
    """Reads a request, or the request that follows from the result of a search."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        values = json.load(file)
    if "objects" in values:
        return request_of_result(values, path)
    return request_of(values)


def request_of_result(values: dict[str, Any], path: str) -> Request:
    about = {"changes": values["changes"], "gpu": values.get("gpu", ""), "source": path}
    return request_of({**values["objects"], **about})


def request_of(values: dict[str, Any]) -> Request:
    loader = values.get("loader")
    return Request(
        changes=[Change(**one) for one in values.get("changes", [])],
        models=[ModelIdentity(**one) for one in values.get("models", [])],
        optimizers=[OptimizerIdentity(**one) for one in values.get("optimizers", [])],
        loader=None if loader is None else LoaderIdentity(**loader),
        gpu=values.get("gpu", ""),
        facts_folder=values.get("facts_folder", ""),
        source=values.get("source", ""),
        fallback=values.get("fallback", True),
    )
