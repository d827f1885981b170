"""The arguments of tundish.Loader, with their defaults.

The engine checks most options; src/loader/state/loader_options.h has the same names. This module resolves options
that only Python can resolve, such as torch objects, paths and ranks.
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
    option["name"]: option["about"]
    for option in json.loads(lib.tundish_reference())["options"]["fields"]
}


def _option(default: Any, about: str) -> Any:
    """An option that Python resolves."""
    return field(default=default, metadata={"about": about})


def _engine_option(name: str, default: Any) -> Any:
    """An option passed to the engine unchanged, with the engine's description."""
    return field(default=default, metadata={"about": _ENGINE[name]})


@dataclass(frozen=True, kw_only=True)
class LoaderOptions:
    """All arguments of a Loader, the most common ones first."""

    batch_size: int = _engine_option("batch_size", 1)
    transforms: Sequence[Transform] = _engine_option("transforms", ())
    views: Sequence[Sequence[Transform]] = _engine_option("views", ())
    shuffle: bool = _engine_option("shuffle", False)
    seed: int = _engine_option("seed", 0)
    device: Any = _option(None, '"cuda": batches are tensors on that GPU, made ahead of the loop')
    drop_last: bool = _option(
        False, 'leave out a last batch that is not full; same as uneven="drop"'
    )
    order: Order | None = _option(
        None, "Subset, Weighted, Balanced, Repeated, Mixture; default: every sample once"
    )
    labels: Any = _option(
        None,
        "replace the stored labels: one integer per sample, or a 2-D array with one row of "
        "numbers per sample",
    )
    return_index: bool = _option(False, "also yield the sample numbers")
    as_dict: bool = _option(False, "yield a dict of all fields instead of a tuple")
    untransformed: Sequence[str] = _option(
        (),
        "with as_dict=True: array fields to keep as stored even if a transform changes the "
        "geometry of the image; other fields are refused",
    )
    batch_transform: Callable[[Any], Any] | None = _option(
        None,
        "function applied to each batch (the tuple or the dict), whose result the loop gets; runs "
        "on the loop's thread, with device= on its current stream; not part of a saved state",
    )
    mode: str = _engine_option("mode", "RGB")
    # --- images of different sizes
    pad_to: Any = _option(
        None,
        "(height, width) or one number: pad images of different sizes to that size, with the "
        "image at the top left",
    )
    pad_to_fill: Any = _option(0, "level of the padding, or one level per channel")
    return_sizes: bool = _engine_option("return_sizes", False)
    images_as: str = _engine_option("images_as", "tensor")
    memory_format: str = _engine_option("memory_format", "channels_last")
    exif_orientation: bool = _engine_option("exif_orientation", False)
    # --- ranks
    rank: int | None = _option(None, "default: from torch.distributed, torchrun or Slurm")
    world_size: int | None = _option(None, "default: from torch.distributed, torchrun or Slurm")
    uneven: str | None = _engine_option("uneven", None)
    # --- bad data
    on_error: str | None = _engine_option("on_error", None)
    max_bad: float | None = _engine_option("max_bad", None)
    hang_warning: float | None = _option(
        30.0, "seconds after which a warning names a read or decode that has not ended; None: never"
    )
    # --- speed and memory
    threads: int | str | None = _option(
        "auto",
        '"auto": chosen by measurement and adjusted during training, within the CPUs of this '
        "process, shared with the other local ranks; a number; None: one per CPU",
    )
    prefetch: int | str = _option(
        "auto",
        'batches kept ready ahead of the trainer. "auto": 4, and with threads="auto" up to 16 if '
        "the trainer waits while threads are idle and memory permits",
    )
    memory: str | int | None = _option(
        None,
        'maximum memory of the loader, "8GiB" or bytes; "auto": half of what this process may '
        "use, shared with the other local ranks; None: no limit",
    )
    cache: str | None = _option(
        None,
        'samples kept in the remaining memory: "encoded" (as stored), "decoded" (as pixels), '
        '"auto" (decoded if all fit); without memory=, the limit is memory="auto"',
    )
    cache_dir: str | os.PathLike[str] | None = _option(
        None,
        "folder on a local disk that keeps samples of a slow source after the first read; "
        "processes and runs share it",
    )
    cache_dir_limit: str | int | None = _option(
        None,
        'maximum size of cache_dir, "200GiB" or bytes; None: half of the free disk space',
    )
    copy_to: str | os.PathLike[str] | None = _option(
        None,
        'folder, such as "/dev/shm", to which the pack is copied first; the copy is removed when '
        "the loader ends",
    )
    pin_memory: bool = _engine_option("pin_memory", False)
    decode: str = _engine_option("decode", "auto")
    resident: bool = _engine_option("resident", False)
    # --- monitoring
    trace: str | os.PathLike[str] | None = _option(
        None, "file for a trace of every thread, written by close() and at exit"
    )
    backend: str = _option("auto", '"auto", "torch" or "numpy": type of the batches')

    def __post_init__(self) -> None:
        for name in ("drop_last", "return_index", "return_sizes", "as_dict", "pin_memory"):
            checks.flag(getattr(self, name), name)
        if self.drop_last and self.uneven not in (None, "drop"):
            raise ValueError(
                f"drop_last=True contradicts uneven={self.uneven!r}: pass only one of them"
            )
        if self.pad_to is not None and self.images_as == "list":
            raise ValueError('pad_to contradicts images_as="list": pass only one of them')
        if self.cache_dir is None and self.cache_dir_limit is not None:
            raise ValueError("cache_dir_limit needs cache_dir=")
        if self.pad_to is None and self.pad_to_fill != 0:
            raise ValueError("pad_to_fill needs pad_to=(height, width)")


def make_options(given: dict[str, Any]) -> LoaderOptions:
    """Returns LoaderOptions for the given arguments. Refuses an unknown name, with a suggestion."""
    known = {option.name for option in fields(LoaderOptions)}
    for name in given:
        if name not in known:
            checks.refuse_unknown(name, known)
    for name in ("transforms", "views"):
        if name in given:
            given = {**given, name: _without_iterators(given[name])}
    return LoaderOptions(**given)


def _without_iterators(lists: Any) -> Any:
    """Replaces iterators by tuples, because an iterator is empty when it is read again."""
    if isinstance(lists, Iterator):
        lists = tuple(lists)
    if isinstance(lists, list | tuple) and any(isinstance(inner, Iterator) for inner in lists):
        return tuple(_without_iterators(inner) for inner in lists)
    return lists


def arguments_text() -> str:
    """Returns the text for help(tundish.Loader), one line per argument."""
    return "\n".join(
        f"    {option.name:<16} {option.metadata['about']}" for option in fields(LoaderOptions)
    )


def signature() -> inspect.Signature:
    """Returns the signature of Loader(...) for help() and editors."""
    either, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(
            option.name, either if option.name == "batch_size" else keyword, default=option.default
        )
        for option in fields(LoaderOptions)
    ]
    return inspect.Signature([inspect.Parameter("path", either), *parameters])


def given_options(options: LoaderOptions) -> dict[str, Any]:
    """Returns arguments from which make_options() would create the same options."""
    return {option.name: getattr(options, option.name) for option in fields(options)}


# Passed to the engine unchanged, under the same name.
_PASSED_UNCHANGED = (
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
    """Returns whether a transform works on whole batches. Such transforms come last."""
    inside = transform.get("transforms", ())
    return transform["name"] in ("MixUp", "CutMix", "TimmMixup") or any(map(_mixes, inside))


def engine_options(
    options: LoaderOptions, sizes: Sequence[int], **resolved: Any
) -> tuple[dict[str, Any], LoaderLists]:
    """Returns the arguments of tundish_loader_new(): a dict for JSON, and arrays.

    sizes     number of samples of each path
    resolved  values that the loader has resolved: rank, world_size, threads, memory, pin_memory, ...
    """
    from ...transforms import PadTo  # not at the top: half the time of `import tundish`
    from ...transforms.transform import transforms_json, views_json

    out = {name: plain(getattr(options, name)) for name in _PASSED_UNCHANGED}
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
    out.update(resolved)
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
