"""The arguments of tundish.Loader, with their defaults.

The engine checks most of them (src/state/loader_options.h has the same names); what only Python knows
about, such as torch, paths and ranks, is settled here.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from ..._c.library import lib
from ..._c.plain import plain
from ..._c.structs import LoaderLists
from ..order import Order, add_order
from . import argument_checks as checks

if TYPE_CHECKING:
    from ...transforms.transform import Transform

_ENGINE = {
    one["name"]: one["about"] for one in json.loads(lib.tundish_reference())["options"]["fields"]
}


def _option(default: Any, about: str) -> Any:
    """An option that only Python knows, or that Python resolves."""
    return field(default=default, metadata={"about": about})


def _of_engine(name: str, default: Any) -> Any:
    """An option that goes to the engine as it is: described there."""
    return field(default=default, metadata={"about": _ENGINE[name]})


@dataclass(frozen=True, kw_only=True)
class LoaderOptions:
    """Everyday arguments first."""

    batch_size: int = _of_engine("batch_size", 1)
    transforms: Sequence[Transform] = _of_engine("transforms", ())
    views: Sequence[Sequence[Transform]] = _of_engine("views", ())
    shuffle: bool = _of_engine("shuffle", False)
    seed: int = _of_engine("seed", 0)
    device: Any = _option(
        None, '"cuda": batches come as tensors on that GPU, made ahead of the loop'
    )
    drop_last: bool = _option(
        False, 'leave out a last batch that is not full; same as uneven="drop"'
    )
    order: Order | None = _option(
        None, "Subset, Weighted, Balanced, Repeated, Mixture; default: every sample once"
    )
    labels: Any = _option(
        None,
        "to use instead of the stored labels: an integer for each sample, or a 2-D array with a row of "
        "numbers for each",
    )
    return_index: bool = _option(False, "also yield the numbers of the samples")
    as_dict: bool = _option(False, "yield a dict of all fields instead of a tuple")
    untransformed: Sequence[str] = _option(
        (),
        "with as_dict=True: array fields to leave as stored although a transform changes the geometry of the image; "
        "others are refused",
    )
    batch_transform: Callable[[Any], Any] | None = _option(
        None,
        "a function of what the loop gets (the tuple or the dict), whose result the loop gets instead; "
        "runs on the loop's thread, with device= on its current stream; not part of a saved state",
    )
    mode: str = _of_engine("mode", "RGB")
    # Images of different sizes.
    pad_to: Any = _option(
        None,
        "(height, width) or one number: images of different sizes, each at the top left of one of that size",
    )
    pad_to_fill: Any = _option(0, "level of the rest, or one per channel")
    return_sizes: bool = _of_engine("return_sizes", False)
    images_as: str = _of_engine("images_as", "tensor")
    memory_format: str = _of_engine("memory_format", "channels_last")
    exif_orientation: bool = _of_engine("exif_orientation", False)
    # Ranks.
    rank: int | None = _option(None, "default: from torch.distributed, torchrun or Slurm")
    world_size: int | None = _option(None, "default: from torch.distributed, torchrun or Slurm")
    uneven: str | None = _of_engine("uneven", None)
    # Bad data.
    on_error: str | None = _of_engine("on_error", None)
    max_bad: float | None = _of_engine("max_bad", None)
    hang_warning: float | None = _option(
        30.0, "seconds after which a read or decode that does not end is named; None: never"
    )
    # Speed and memory.
    threads: int | str | None = _option(
        "auto",
        '"auto": found by measurement and changed while training goes on, within the CPUs of this process, '
        "shared with the other local ranks; a number; None: one for each of these CPUs",
    )
    prefetch: int | str = _option(
        "auto",
        'batches kept ready ahead of the trainer. "auto": 4, and with threads="auto" up to 16 where the trainer waits '
        "while threads have nothing to do, as memory has room",
    )
    memory: str | int | None = _option(
        None,
        'the most that the loader may use, "8GiB" or bytes; "auto": half of what this process may '
        "take, shared with the other local ranks; None: no limit",
    )
    cache: str | None = _option(
        None,
        'samples kept in what is left of memory: "encoded" (as stored), "decoded" (as pixels), "auto" '
        '(decoded if all fit so); without memory= that is "auto"',
    )
    cache_dir: str | os.PathLike[str] | None = _option(
        None,
        "a folder on a local disk that keeps samples of a slow source once they were read; processes and runs share it",
    )
    cache_dir_limit: str | int | None = _option(
        None,
        'the most that cache_dir may take, "200GiB" or bytes; None: half of what that disk has free',
    )
    copy_to: str | os.PathLike[str] | None = _option(
        None, 'a folder, such as "/dev/shm": the pack is copied there first, until the loader ends'
    )
    pin_memory: bool = _of_engine("pin_memory", False)
    decode: str = _of_engine("decode", "auto")
    resident: bool = _of_engine("resident", False)
    # Monitoring.
    trace: str | os.PathLike[str] | None = _option(
        None, "file for a trace of every thread, written by close() and at exit"
    )
    backend: str = _option("auto", '"auto", "torch" or "numpy": what batches are made of')

    def __post_init__(self) -> None:
        if self.drop_last and self.uneven not in (None, "drop"):
            raise ValueError(f"drop_last=True contradicts uneven={self.uneven!r}: give one of them")
        if self.pad_to is not None and self.images_as == "list":
            raise ValueError('pad_to contradicts images_as="list": give one of them')
        if self.cache_dir is None and self.cache_dir_limit is not None:
            raise ValueError("cache_dir_limit needs cache_dir=")
        if self.pad_to is None and self.pad_to_fill != 0:
            raise ValueError("pad_to_fill needs pad_to=(height, width)")


def make_options(given: dict[str, Any]) -> LoaderOptions:
    """Refuses names that are no argument, with what to use instead."""
    known = {one.name for one in fields(LoaderOptions)}
    for name in given:
        if name not in known:
            checks.refuse_unknown(name, known)
    for name in ("transforms", "views"):
        if name in given:
            given = {**given, name: _without_iterators(given[name])}
    return LoaderOptions(**given)


def _without_iterators(lists: Any) -> Any:
    """Returns tuples instead of iterators, which would be empty when they are read again."""
    if isinstance(lists, Iterator):
        lists = tuple(lists)
    if isinstance(lists, list | tuple) and any(isinstance(inner, Iterator) for inner in lists):
        return tuple(_without_iterators(inner) for inner in lists)
    return lists


def arguments_text() -> str:
    """For help(tundish.Loader): every argument in a line of its own."""
    return "\n".join(f"    {one.name:<16} {one.metadata['about']}" for one in fields(LoaderOptions))


def signature() -> inspect.Signature:
    """Of Loader(...), for help() and editors."""
    either, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(
            one.name, either if one.name == "batch_size" else keyword, default=one.default
        )
        for one in fields(LoaderOptions)
    ]
    return inspect.Signature([inspect.Parameter("path", either), *parameters])


def as_given(options: LoaderOptions) -> dict[str, Any]:
    """What make_options() takes to make them again."""
    return {one.name: getattr(options, one.name) for one in fields(options)}


# Given to the engine as they are, by the same name.
_AS_THEY_ARE = (
    "batch_size",
    "shuffle",
    "mode",
    "memory_format",
    "images_as",
    "exif_orientation",
    "on_error",
    "max_bad",
    "decode",
    "resident",
)


def _mixes(transform: dict[str, Any]) -> bool:
    """Whether it works on batches: these are the end of a list."""
    inside = transform.get("transforms", ())
    return transform["name"] in ("MixUp", "CutMix", "TimmMixup") or any(map(_mixes, inside))


def engine_options(
    options: LoaderOptions, sizes: Sequence[int], **settled: Any
) -> tuple[dict[str, Any], LoaderLists]:
    """What tundish_loader_new() takes: a dict for JSON, and lists beside it.

    sizes     samples of each path
    settled   what the loader has settled: rank, world_size, threads, memory, pin_memory, ...
    """
    from ...transforms import PadTo  # here: it is half of the time that `import tundish` would take
    from ...transforms.transform import transforms_json, views_json

    out = {name: plain(getattr(options, name)) for name in _AS_THEY_ARE}
    out["transforms"] = transforms_json(options.transforms)
    out["views"] = views_json(options.views)
    if options.pad_to is not None:
        pad = PadTo(options.pad_to, options.pad_to_fill)._json()
        for view in out["views"] or [out["transforms"]]:
            view.insert(len(view) - bool(view and _mixes(view[-1])), pad)
    out["return_sizes"] = bool(options.return_sizes)
    out["seed"] = checks.whole(options.seed, "seed") % 2**64
    out["all_fields"] = bool(options.as_dict)
    out["uneven"] = "drop" if options.drop_last else plain(options.uneven)
    out.update(settled)
    lists = LoaderLists()
    if options.order is not None:
        add_order(options.order, out, lists, sizes)
    if options.labels is not None:
        labels = checks.labels(options.labels, sum(sizes))
        if labels.ndim == 2:
            lists.label_width = labels.shape[1]
            lists.put("label_vectors", "label_vector_count", labels.reshape(-1))
        else:
            lists.put("labels", "label_count", labels)
    return out, lists
