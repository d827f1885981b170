"""`tundish.accelerate`: examines a DataLoader and returns a faster replacement with a report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._c.errors import Error, SampleError
from ..data.gpu.device import device_of
from ..data.loader import Loader
from ..data.open_source import Source
from ..data.settings import argument_checks as checks
from .accelerate_report import AccelerateReport, worker_text
from .datasets.known_datasets import KnownDataset, recognize_dataset
from .datasets.part_sources import open_parts
from .datasets.parts import Files, Pixels, Ranges
from .loader_arguments import check_arguments
from .loader_seeds import seed_for
from .native_loader import ListedLoader, LoaderSpec, NativeLoader, OrderedLoader, as_tuple
from .packs.packs import PackBeside
from .proof import allowed_difference, check_first_sample, prove_batches
from .rank_notes import notes_about_ranks
from .rank_orders import sampler_orders_of
from .reasons import NotTranslated, Reason, not_translated
from .samplers import Epochs, epochs_of, shares_random_numbers
from .timm_loaders import (
    describe,
    finished,
    gives_tuples,
    inner_loader,
    plain_loader,
    prefetched_device,
    source_of,
)
from .torch_loader import TorchLoader
from .translate import described, is_fixed, translate

# Arguments of tundish.Loader that change how batches are produced, but not their contents.
OPTIONS = (
    *("threads", "prefetch", "memory", "cache", "memory_format", "on_error", "max_bad"),
    *("hang_warning", "decode", "resident", "trace", "cache_dir", "cache_dir_limit"),
)


@dataclass(frozen=True)
class AccelerateRequest:
    """The arguments of accelerate()."""

    device: Any
    pack: Any
    prove_batches: int
    own_order: bool
    seed: int | None
    options: dict[str, Any]


def accelerate(
    dataloader: Any,
    *,
    device: Any = None,
    pack: str | os.PathLike[str] | None = None,
    prove_batches: int = 0,
    order_from: str = "tundish",
    seed: int | None = None,
    **options: Any,
) -> Any:
    """Replaces a torch DataLoader with a loader that is faster where possible.

        loader = tundish.accelerate(DataLoader(ImageFolder("photos", transform), 256, shuffle=True, num_workers=8))
        print(loader.report)

    Tundish's C++ engine reads, decodes and augments datasets and transforms of torchvision, timm and Hugging
    Face. Everything else keeps its code and torch's worker processes; `loader.report` explains why.

    dataloader     a torch.utils.data.DataLoader or timm's PrefetchLoader, which stays usable. An accelerated
                   loader is returned unchanged, or accelerated again if its DataLoader has changed
    device         "cuda" copies batches to that GPU before the loop requests them
    pack           None reads the files. "train.tnd" is the path of a pack. It is used if it exists and holds
                   these files; otherwise it is written in the background and used from the next epoch on.
                   "auto" uses the path FOLDER.auto.tnd
    prove_batches  number of batches to compare with torch's code first; if they differ, torch's code is kept
    order_from     "tundish" draws random orders with the engine, and a run can resume anywhere; "sampler"
                   always uses the indices of the sampler
    seed           seed of orders and augmentations. None uses the seed of a DistributedSampler, or the next
                   number of the DataLoader's generator or torch's default generator
    options        arguments of tundish.Loader: threads, prefetch, memory, cache, memory_format, on_error,
                   max_bad, hang_warning, decode, resident, trace, cache_dir, cache_dir_limit. The defaults are
                   torch's: memory_format="contiguous", on_error="fail". Unused if torch's code is kept
    """
    from torch.utils.data import DataLoader

    if isinstance(dataloader, NativeLoader) and dataloader.has_changed():
        dataloader.close()
        dataloader = source_of(dataloader.dataloader)
    if isinstance(dataloader, NativeLoader | TorchLoader | Loader):
        return dataloader
    if not isinstance(inner_loader(dataloader), DataLoader):
        kind = type(inner_loader(dataloader)).__name__
        raise TypeError(f"accelerate() takes a torch DataLoader, not {kind}")
    _check_names(options, order_from)
    place = device_of(device, "torch")
    arguments = {"device": device, "pack": pack, "order_from": order_from, "seed": seed}
    arguments |= options
    engine_options = {"on_error": "fail", "memory_format": "contiguous", **options}
    if seed is not None:
        seed = checks.whole(seed, "seed")
    to_prove = int(prove_batches) if isinstance(prove_batches, bool) else prove_batches or 0
    to_prove = checks.whole(to_prove, "prove_batches", least=0)
    own_order = order_from == "tundish"
    request = AccelerateRequest(place, pack, to_prove, own_order, seed, engine_options)
    loader = _loader(dataloader, request, arguments)
    inner = inner_loader(loader._dataloader)
    loader.report.notes += notes_about_ranks(inner)
    loader._rank_orders = sampler_orders_of(inner)
    loader.report.log_report()
    return loader


def _check_names(options: dict[str, Any], order_from: Any) -> None:
    unknown = [name for name in options if name not in OPTIONS]
    if unknown:
        raise TypeError(
            f"accelerate() has no argument {unknown[0]!r}: the DataLoader defines the contents of a batch; "
            f"of tundish.Loader's arguments it takes {', '.join(OPTIONS)}"
        )
    if order_from not in ("tundish", "sampler"):
        raise ValueError(f'order_from must be "tundish" or "sampler", not {order_from!r}')


def _loader(dataloader: Any, request: AccelerateRequest, arguments: dict[str, Any]) -> Any:
    try:
        return _native(plain_loader(dataloader), request, arguments)
    except NotTranslated as kept:
        reasons = list(kept.reasons)
    # Not inside `except`: otherwise an error from the dataset would be chained to this reason.
    return _kept(source_of(dataloader), reasons, request, arguments)


def _kept(
    dataloader: Any, reasons: list[Reason], request: AccelerateRequest, arguments: dict[str, Any]
) -> TorchLoader:
    report = AccelerateReport(
        False, worker_text(inner_loader(dataloader).num_workers), reasons=reasons
    )
    if request.prove_batches:
        report.proof = "none: torch makes the batches as before"
    return TorchLoader(dataloader, report, request.device, arguments)


def _native(dataloader: Any, request: AccelerateRequest, arguments: dict[str, Any]) -> NativeLoader:
    """Returns a loader whose batches the engine makes. Raises NotTranslated if the engine cannot make them."""
    check_arguments(dataloader)
    known = _known(dataloader.dataset)
    transforms = finished(translate(known.transforms), dataloader)
    epochs = epochs_of(dataloader, known, request.own_order)
    given = request.seed is not None or "seed" in epochs.options
    seed = None if given else seed_for(dataloader, epochs.sampler, epochs.listed)
    device = request.device
    if device is None:
        device = device_of(prefetched_device(dataloader), "torch")
    options = {
        **request.options,
        "transforms": transforms,
        "mode": known.parts[0].mode,
        "exif_orientation": known.parts[0].upright,
        "seed": 0 if seed is None else seed.value,
        "device": device,
        "pin_memory": _pins(dataloader, device),
    }
    if gives_tuples(dataloader):
        options["batch_transform"] = as_tuple
    if request.seed is not None:
        options["seed"] = request.seed
        epochs.options.pop("seed", None)
    report = AccelerateReport(native=True)
    if isinstance(known.parts[0], Pixels) and options.get("cache_dir") is not None:
        options |= {"cache_dir": None, "cache_dir_limit": None}
        report.notes.append("cache_dir is not used: the arrays are in memory")
    spec, allowed = LoaderSpec(known, epochs, options), allowed_difference(transforms)

    def prove(source: Source) -> None:
        """Compares batches of this source, the files or the pack, with torch's batches."""
        check_first_sample(dataloader, spec, source, allowed)
        if request.prove_batches:
            count = request.prove_batches
            report.proof = prove_batches(dataloader, spec, source, allowed, count)

    try:
        source = open_parts(known.parts)
        prove(source)
        _describe(report, known, transforms, epochs)
        describe(dataloader, report.translated, report.differs)
        if (
            epochs.listed
            and not is_fixed(transforms)
            and shares_random_numbers(dataloader, epochs.sampler)
        ):
            report.differs.append(_OTHER_NUMBERS)
        pack, packed = _pack_of(known, request.pack, report, prove)
        kind = ListedLoader if epochs.listed else OrderedLoader
        return kind(dataloader, spec, source, packed, report, arguments, pack, seed)
    except (Error, ValueError) as error:
        is_sample = isinstance(error, SampleError)  # torch may read a sample that the engine cannot
        if not is_sample and _is_of_options(arguments, known, epochs, options):
            raise
        reason = Reason(f"the engine refuses: {error}", "follow the message")
        raise NotTranslated(reason) from error


def _known(dataset: Any) -> KnownDataset:
    try:
        return recognize_dataset(dataset)
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # such as root=None
        raise not_translated(
            f"{type(dataset).__name__} has unusual attributes: {type(error).__name__}: {error}",
            "keep the attributes that the dataset was made with",
        ) from error


def _is_of_options(
    arguments: Any, known: KnownDataset, epochs: Epochs, options: dict[str, Any]
) -> bool:
    """Returns whether the options given to accelerate() caused the error."""
    given = [name for name in OPTIONS if name in arguments]
    if not given:
        return False
    plain = {name: value for name, value in options.items() if name not in given}
    try:
        LoaderSpec(known, epochs, plain).loader(open_parts(known.parts)).close()
    except (Error, ValueError):
        return False
    return True


def _pins(dataloader: Any, device: Any) -> bool:
    import torch

    return bool(dataloader.pin_memory) and device is None and torch.cuda.is_available()


def _pack_of(
    known: KnownDataset, pack: Any, report: AccelerateReport, prove: Callable[[Source], None]
) -> tuple[PackBeside | None, Source | None]:
    """Returns a pack that is not ready yet, or the source of a pack that is ready, but never both."""
    if pack is None:
        return None, None
    part = known.parts[0]
    if len(known.parts) > 1 or not isinstance(part, Files):
        report.notes.append(f"no pack: {_WHY_NO_PACK[type(part)]}")
        return None, None
    beside = PackBeside(part, os.fspath(pack), report, prove)
    packed = beside.start(os.fspath(pack))
    if packed is None:
        return beside, None
    report.translated.append(
        f"batches come from {beside.path}, which has these files: {beside.about}"
    )
    return None, packed


_WHY_NO_PACK = {
    Files: "the dataset has several folders",
    Ranges: "the images are in Arrow files, not in separate files",
    Pixels: "the arrays are in memory",
}
_OTHER_NUMBERS = (
    "with num_workers=0 torch's transforms take random numbers from the sampler, and the engine's do not: "
    "from the second epoch on its order is another one"
)
_WHAT = {Files: "files", Ranges: "images in Arrow files", Pixels: "images in memory"}


def _loads_cut_off_images(known: KnownDataset) -> bool:
    pillow = sys.modules.get("PIL.ImageFile")
    in_memory = isinstance(known.parts[0], Pixels)
    return bool(getattr(pillow, "LOAD_TRUNCATED_IMAGES", False)) and not in_memory


def _describe(
    report: AccelerateReport, known: KnownDataset, transforms: list[Any], epochs: Epochs
) -> None:
    if _loads_cut_off_images(known):
        report.differs.append(
            "PIL.ImageFile.LOAD_TRUNCATED_IMAGES has no effect: an image that is cut off is a bad sample"
        )
    for part in known.parts:
        what = _WHAT[type(part)]
        report.translated.append(f"{part.name}: {len(part):,} {what}")
    if not known.is_whole:
        report.translated.append(f"Subset, ConcatDataset: {len(known.numbers):,} samples")
    report.translated.append(f"transforms: {described(transforms)}")
    report.translated.append(epochs.about)
    report.differs += [epochs.differs] if epochs.differs else []
    if not is_fixed(transforms):
        report.differs.append(
            "random transforms draw the engine's random numbers, from torchvision's distributions"
        )
