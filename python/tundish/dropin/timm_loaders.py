"""timm's loaders, as the plain DataLoader that they iterate over.

MultiEpochsDataLoader repeats its batch sampler in worker processes that never end. PrefetchLoader copies batches of
uint8 to a device, normalizes and erases them there. Nothing here imports timm.
"""

from __future__ import annotations

import copy
import sys
import weakref
from typing import Any

from ..transforms.from_timm import from_timm
from ..transforms.transform import Transform
from .reasons import not_translated
from .replaced_functions import is_replaced
from .where_defined import where_defined

# The loader of timm that a plain loader was made from. It is not kept alive: its processes end with it.
_SOURCES: weakref.WeakKeyDictionary[Any, weakref.ref[Any]] = weakref.WeakKeyDictionary()
_COMPARED = ("collate_fn", "worker_init_fn", "batch_sampler")
# Attributes that a plain loader has in addition.
_PREFETCHER = "_tundish_prefetcher"  # the PrefetchLoader, without its loader
_REPEATED = "_tundish_repeated"  # present if it was made from a MultiEpochsDataLoader
_GIVEN = "_tundish_given"  # attributes of the original DataLoader


def is_prefetcher(loader: Any) -> bool:
    return _is_timms(loader, "PrefetchLoader")


def inner_loader(loader: Any) -> Any:
    """Returns the DataLoader inside a PrefetchLoader, or any other loader itself."""
    return loader.loader if is_prefetcher(loader) else loader


def plain_loader(loader: Any) -> Any:
    """Returns a DataLoader whose epochs have the batches of timm's loader before its PrefetchLoader.

    Any other loader is returned itself. Raises NotTranslated if a method of timm's loader was replaced.
    """
    from torch.utils.data import DataLoader

    inner = inner_loader(loader)
    if inner is loader and not _is_timms(loader, "MultiEpochsDataLoader"):
        return loader
    _check_methods(loader)
    added: dict[str, Any] = {}
    if inner is not loader:
        finishing_transforms(loader)  # raises NotTranslated
        added[_PREFETCHER] = _without_loader(loader)
        added["mixup_enabled"] = False
    if _is_timms(inner, "MultiEpochsDataLoader"):
        _check_methods(inner)
        if type(inner.batch_sampler).__name__ != "_RepeatSampler":
            raise not_translated("MultiEpochsDataLoader without batches", "pass a batch_size")
        _check_methods(inner.batch_sampler)
        added[_REPEATED] = True
    elif type(inner) is not DataLoader:
        raise not_translated(
            f"PrefetchLoader has no DataLoader inside, but {type(inner).__name__}",
            "create it with timm.data.create_loader()",
            where_defined(inner),
        )
    out = object.__new__(DataLoader)
    vars(out).update(vars(inner))
    vars(out).pop("iterator", None)
    vars(out)["batch_sampler"] = _batch_sampler(inner)
    vars(out).update(added, _iterator=None)
    vars(out)[_GIVEN] = {name: getattr(out, name) for name in _COMPARED}
    _SOURCES[out] = weakref.ref(loader)
    return out


def source_of(plain: Any) -> Any:
    """Returns what to accelerate again, or to iterate over with torch's code, in place of a plain loader.

    This is timm's loader, unless a script has set attributes of the plain loader.
    """
    given = vars(plain).get(_GIVEN, {})
    source = _source(plain)
    if source is not None and all(vars(plain)[name] is value for name, value in given.items()):
        return source
    if _PREFETCHER not in vars(plain):
        return plain
    out = copy.copy(vars(plain)[_PREFETCHER])
    out.loader = plain
    return out


def facts_of(plain: Any) -> dict[str, Any]:
    """Returns facts that change when the settings of timm's loader change, as long as it exists."""
    given, source = vars(plain).get(_GIVEN), _source(plain)
    if given is None:
        return {}
    out: dict[str, Any] = {}
    if _PREFETCHER in vars(plain):
        out["PrefetchLoader"] = finishing_transforms(plain if source is None else source)
    inner = plain if source is None else inner_loader(source)
    out["the DataLoader of PrefetchLoader"] = inner.dataset is plain.dataset
    for name, value in given.items():
        now = _batch_sampler(inner) if name == "batch_sampler" else getattr(inner, name, None)
        out[f"DataLoader.{name}"] = now is value
    return out


def finishing_transforms(loader: Any) -> list[Transform]:
    """Returns the transforms of a PrefetchLoader, of a plain loader made from it, or none. Raises NotTranslated."""
    prefetcher = loader if is_prefetcher(loader) else vars(loader).get(_PREFETCHER)
    if prefetcher is None:
        return []
    import torch
    from torchvision import transforms

    _check_methods(prefetcher)
    if prefetcher.device.type not in ("cpu", "cuda"):
        raise not_translated(f"PrefetchLoader copies to {prefetcher.device}", 'use "cuda" or "cpu"')
    if {prefetcher.img_dtype, prefetcher.mean.dtype, prefetcher.std.dtype} != {torch.float32}:
        raise not_translated(
            f"PrefetchLoader rounds to {prefetcher.img_dtype} before it normalizes",
            "leave out img_dtype= and fp16=, and convert the batch in the loop",
        )
    if prefetcher.mean.shape != (1, 3, 1, 1) or prefetcher.std.shape != (1, 3, 1, 1):
        raise not_translated("PrefetchLoader normalizes no RGB images", "use three channels")
    mean, std = (
        [round(value / 255, 7) for value in values.flatten().tolist()]
        for values in (prefetcher.mean, prefetcher.std)
    )
    steps = [transforms.ToTensor(), transforms.Normalize(mean, std)]
    erasing = prefetcher.random_erasing
    if erasing is not None:
        if erasing.num_splits > 1:
            raise not_translated(
                "PrefetchLoader erases only a part of a batch", "leave out re_split"
            )
        steps.append(erasing)
    try:
        return from_timm(transforms.Compose(steps))
    except ValueError as error:
        raise not_translated(f"PrefetchLoader: {error}", "use the RandomErasing of timm") from None


def finished(transforms: list[Transform], loader: Any) -> list[Transform]:
    """Returns the transforms of a dataset followed by those of a PrefetchLoader, if the loader has one.

    Raises NotTranslated if images are floats before timm's code makes uint8 of them.
    """
    after = finishing_transforms(loader)
    names = {type(transform).__name__ for transform in transforms}
    floats = bool(names & {"ToDtype", "Normalize"})
    if floats and is_fast_collate(loader.collate_fn):
        raise not_translated(
            "timm's fast_collate converts images from float to uint8",
            "end the transforms with PILToTensor(), or leave out collate_fn",
        )
    if floats and after:
        raise not_translated(
            "PrefetchLoader normalizes images that are floats already",
            "end the transforms of the dataset with PILToTensor()",
        )
    return transforms + after


def reference_batch(loader: Any, samples: list[Any]) -> Any:
    """Returns the batch that torch's code makes of these samples. Random erasing is left out."""
    batch = loader.collate_fn(samples)
    prefetcher = vars(loader).get(_PREFETCHER)
    if prefetcher is None:
        return batch
    prefetcher = _without_loader(prefetcher)
    prefetcher.loader, prefetcher.random_erasing = [batch], None
    return [part.cpu() for part in next(iter(prefetcher))]


def prefetched_device(loader: Any) -> Any:
    """Returns the device that a PrefetchLoader copies to, or None for other loaders."""
    prefetcher = vars(loader).get(_PREFETCHER)
    return None if prefetcher is None else prefetcher.device


def is_fast_collate(function: Any) -> bool:
    known = getattr(sys.modules.get("timm.data.loader"), "fast_collate", None)
    return function is not None and function is known and not is_replaced(function)


def is_mixing_collate(function: Any) -> bool:
    kind = getattr(sys.modules.get("timm.data.mixup"), "FastCollateMixup", None)
    return kind is not None and isinstance(function, kind)


def gives_tuples(loader: Any) -> bool:
    return _PREFETCHER in vars(loader) or is_fast_collate(loader.collate_fn)


def describe(loader: Any, translated: list[str], differs: list[str]) -> None:
    """Adds what was done with timm's loader to lines of the report."""
    if _PREFETCHER in vars(loader):
        translated.append("PrefetchLoader: its transforms come last, and batches are on its device")
    if _REPEATED in vars(loader):
        translated.append("MultiEpochsDataLoader: the threads of the engine live on between epochs")
        differs.append(
            "each epoch begins anew: MultiEpochsDataLoader draws its order ahead, and continues after a loop that "
            "ended early"
        )


def _batch_sampler(inner: Any) -> Any:
    batches: Any = getattr(inner, "batch_sampler", None)
    return batches.sampler if _is_timms(batches, "_RepeatSampler") else batches


def _without_loader(prefetcher: Any) -> Any:
    out = copy.copy(prefetcher)
    out.loader, out.stream = None, None
    return out


def _source(plain: Any) -> Any:
    held = _SOURCES.get(plain) if _GIVEN in vars(plain) else None
    return None if held is None else held()


def _is_timms(value: Any, name: str) -> bool:
    kind = getattr(sys.modules.get("timm.data.loader"), name, None)
    return kind is not None and type(value) is kind


def _check_methods(value: Any) -> None:
    """Raises NotTranslated if a script replaced the iteration of a class of timm."""
    kind = type(value)
    for name in ("__iter__", "__len__"):
        found = vars(kind).get(name)
        if name in vars(value) or (found is not None and is_replaced(found)):
            raise not_translated(
                f"{kind.__name__}.{name} was replaced",
                "leave the loaders of timm",
                where_defined(found),
            )
