"""`tundish.accelerate`: looks at a DataLoader, chooses who makes its batches, and reports."""

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
from .accelerate_report import Report, worker_text
from .datasets.known_datasets import Known, look_at
from .datasets.part_sources import open_parts
from .datasets.parts import Files, Pixels, Ranges
from .loader_arguments import check_arguments, seed_of
from .native_loader import ListedLoader, NativeLoader, OrderedLoader, Recipe
from .packs.packs import PackBeside
from .proof import allowed_difference, check_one, prove_batches
from .rank_notes import notes_about_ranks
from .reasons import NotTranslated, Reason
from .samplers import Epochs, epochs_of, shares_random_numbers
from .torch_loader import KeptLoader
from .translate import described, is_fixed, translate

# Arguments of tundish.Loader that change how batches are made, not what is in them.
OPTIONS = (
    *("threads", "prefetch", "memory", "cache", "memory_format", "on_error", "max_bad"),
    *("hang_warning", "decode", "resident", "trace", "cache_dir", "cache_dir_limit"),
)


@dataclass(frozen=True)
class Wanted:
    """The arguments of accelerate()."""

    device: Any
    pack: Any
    prove: int
    own_order: bool
    seed: int | None
    options: dict[str, Any]


def accelerate(
    dataloader: Any,
    *,
    device: Any = None,
    pack: str | os.PathLike[str] | None = None,
    prove: int = 0,
    order: str = "tundish",
    seed: int | None = None,
    **options: Any,
) -> Any:
    """An object that stands in the place of a torch DataLoader, and is faster where that is possible.

        loader = tundish.accelerate(DataLoader(ImageFolder("photos", transform), 256, shuffle=True, num_workers=8))
        print(loader.report)

    Data sets and transforms of torchvision, timm and Hugging Face are read, decoded and augmented by the engine. Everything else keeps its own
    code and torch's worker processes. `loader.report` says which, and why.

    dataloader  a torch.utils.data.DataLoader; it stays usable
    device    "cuda": batches are on that GPU, copied ahead of the loop
    pack      None: files are read as they are; "train.tnd": a pack of the files, used if it exists and has these files, otherwise
              made in the background and used from the next epoch on; "auto": the same, named FOLDER.auto.tnd
    prove     compare so many batches with those of torch's code first; where they differ, torch's code stays
    order     "tundish": random orders are those of the engine, which can be resumed anywhere; "sampler": the indices of
              the sampler, in every case
    seed      of orders and augmentations; None: that of torch.manual_seed(), of the generator, or of the DistributedSampler
    options   of tundish.Loader: threads, prefetch, memory, cache, memory_format (by default "contiguous", as torch's), on_error (by default "fail", as
              torch's), max_bad, hang_warning, decode, resident, trace, cache_dir, cache_dir_limit; without effect where torch's code stays
    """
    from torch.utils.data import DataLoader

    if isinstance(dataloader, NativeLoader | KeptLoader | Loader):
        return dataloader
    if not isinstance(dataloader, DataLoader):
        raise TypeError(_not_a_dataloader(dataloader))
    unknown = [name for name in options if name not in OPTIONS]
    if unknown:
        raise TypeError(
            f"accelerate() has no argument {unknown[0]!r}: what is in a batch is the DataLoader's; "
            f"of tundish.Loader it takes {', '.join(OPTIONS)}"
        )
    if order not in ("tundish", "sampler"):
        raise ValueError(f'order must be "tundish" or "sampler", not {order!r}')
    place = device_of(device, "torch")
    arguments = {"device": device, "pack": pack, "order": order, "seed": seed}
    arguments |= options
    engine_options = {"on_error": "fail", "memory_format": "contiguous", **options}
    wanted = Wanted(place, pack, prove, order == "tundish", seed, engine_options)
    loader = _loader(dataloader, wanted, arguments)
    loader.report.notes += notes_about_ranks(dataloader)
    loader.report.tell()
    return loader


def _not_a_dataloader(given: Any) -> str:
    kind = type(given)
    text = f"accelerate() takes a torch DataLoader, not {kind.__name__}"
    if kind.__name__ == "PrefetchLoader" and kind.__module__.split(".")[0] == "timm":
        text += (
            "\n  fix: create_loader(..., use_prefetcher=False), in timm's train.py --no-prefetcher; "
            'accelerate(..., device="cuda") copies ahead of the loop instead'
        )
    return text


def _loader(theirs: Any, wanted: Wanted, arguments: dict[str, Any]) -> Any:
    try:
        return _native(theirs, wanted, arguments)
    except NotTranslated as kept:
        reasons = list(kept.reasons)
    # Not inside `except`: an error of the data set would name it as its reason.
    return _kept(theirs, reasons, wanted, arguments)


def _kept(
    theirs: Any, reasons: list[Reason], wanted: Wanted, arguments: dict[str, Any]
) -> KeptLoader:
    report = Report(False, worker_text(theirs.num_workers), reasons=reasons)
    if wanted.prove:
        report.proof = "none: torch makes the batches as before"
    return KeptLoader(theirs, report, wanted.device, arguments)


def _native(theirs: Any, wanted: Wanted, arguments: dict[str, Any]) -> NativeLoader:
    """Raises NotTranslated."""
    check_arguments(theirs)
    known = look_at(theirs.dataset)
    transforms = translate(known.transforms)
    epochs = epochs_of(theirs, known, wanted.own_order)
    options = {
        **wanted.options,
        "transforms": transforms,
        "mode": known.parts[0].mode,
        "exif_orientation": known.parts[0].upright,
        "seed": seed_of(theirs, epochs.sampler),
        "device": wanted.device,
        "pin_memory": _pins(theirs, wanted.device),
    }
    if wanted.seed is not None:
        options["seed"] = wanted.seed
        epochs.options.pop("seed", None)
    report = Report(native=True)
    if isinstance(known.parts[0], Pixels) and options.get("cache_dir") is not None:
        options |= {"cache_dir": None, "cache_dir_limit": None}
        report.notes.append("no cache_dir: arrays in memory need none")
    recipe, allowed = Recipe(known, epochs, options), allowed_difference(transforms)

    def prove(source: Source) -> None:
        """Compares batches of this source, the files or the pack, with those of torch's code."""
        check_one(theirs.dataset, recipe, source, allowed)
        if wanted.prove:
            report.proof = prove_batches(theirs.dataset, recipe, source, allowed, wanted.prove)

    try:
        source = open_parts(known.parts)
        prove(source)
        _describe(report, known, transforms, epochs)
        if (
            epochs.listed
            and not is_fixed(transforms)
            and shares_random_numbers(theirs, epochs.sampler)
        ):
            report.differs.append(_OTHER_NUMBERS)
        pack, packed = _pack_of(known, wanted.pack, report, prove)
        kind = ListedLoader if epochs.listed else OrderedLoader
        return kind(theirs, recipe, source, packed, report, arguments, pack)
    except (Error, ValueError) as error:
        is_sample = isinstance(error, SampleError)  # torch may read what the engine does not
        if not is_sample and _is_of_options(arguments, known, epochs, options):
            raise
        reason = Reason(f"the engine refuses: {error}", "what the message says")
        raise NotTranslated(reason) from error


def _is_of_options(arguments: Any, known: Known, epochs: Epochs, options: dict[str, Any]) -> bool:
    """Whether the engine would take all of this but for the options that accelerate() was given."""
    given = [name for name in OPTIONS if name in arguments]
    if not given:
        return False
    plain = {name: value for name, value in options.items() if name not in given}
    try:
        Recipe(known, epochs, plain).loader(open_parts(known.parts)).close()
    except (Error, ValueError):
        return False
    return True


def _pins(theirs: Any, device: Any) -> bool:
    import torch

    return bool(theirs.pin_memory) and device is None and torch.cuda.is_available()


def _pack_of(
    known: Known, pack: Any, report: Report, prove: Callable[[Source], None]
) -> tuple[PackBeside | None, Source | None]:
    """A pack that is not ready yet, or one that is; at most one of them."""
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
    Files: "there are several folders",
    Ranges: "the images are in Arrow files, not in files of their own",
    Pixels: "arrays in memory need none",
}
_OTHER_NUMBERS = (
    "with num_workers=0 torch's transforms take random numbers from the sampler, and the engine's do not: "
    "from the second epoch on its order is another one"
)
_WHAT = {Files: "files", Ranges: "images in Arrow files", Pixels: "images in memory"}


def _loads_cut_off_images(known: Known) -> bool:
    pillow = sys.modules.get("PIL.ImageFile")
    in_memory = isinstance(known.parts[0], Pixels)
    return bool(getattr(pillow, "LOAD_TRUNCATED_IMAGES", False)) and not in_memory


def _describe(report: Report, known: Known, transforms: list[Any], epochs: Epochs) -> None:
    if _loads_cut_off_images(known):
        report.differs.append(
            "PIL.ImageFile.LOAD_TRUNCATED_IMAGES has no effect: an image that is cut off is a bad sample"
        )
    for part in known.parts:
        what = _WHAT[type(part)]
        report.translated.append(f"{part.name}: {len(part):,} {what}")
    if not known.is_whole:
        report.translated.append(f"Subset, ConcatDataset: {len(known.numbers):,} samples of them")
    report.translated.append(f"transforms: {described(transforms)}")
    report.translated.append(epochs.about)
    report.differs += [epochs.differs] if epochs.differs else []
    if not is_fixed(transforms):
        report.differs.append(
            "random transforms draw the engine's random numbers, from torchvision's distributions"
        )
