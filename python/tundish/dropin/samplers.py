"""torch's samplers as orders of the engine.

A sampler that the engine has no order for is asked for its own indices at the start of every epoch.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

from ..data.order import Listed, Order, Repeated, Subset, Weighted
from .datasets.known_datasets import Known, fits
from .reasons import keep
from .where_defined import where_defined

_ENDLESS = 16  # times the length that a sampler promises: it never ends
_DIFFERS = "the order of an epoch is the engine's: another one than torch's for the same seed"

Given = tuple[Any, int, bool]  # sampler, batch_size, drop_last


@dataclass(frozen=True)
class Epochs:
    """What an epoch has, and in which order."""

    sampler: Any
    batch_size: int
    drop_last: bool
    about: str  # for the report
    order: Order | None = None
    listed: bool = False  # the sampler's own indices, anew in every epoch
    options: dict[str, Any] = field(default_factory=dict)  # of the Loader
    differs: str = ""


def epochs_of(theirs: Any, known: Known, own_order: bool) -> Epochs:
    """`own_order`: the engine's order where it has one; else the sampler's indices."""
    from torch.utils.data import (
        BatchSampler,
        DistributedSampler,
        RandomSampler,
        SequentialSampler,
        SubsetRandomSampler,
        WeightedRandomSampler,
    )

    batches = theirs.batch_sampler
    if type(batches) is not BatchSampler:
        raise keep(
            f"{type(batches).__name__} makes batches in a way of its own",
            "batch_size= and sampler=",
            where_defined(batches),
        )
    sampler = batches.sampler
    given = (sampler, batches.batch_size, batches.drop_last)
    count = len(known.numbers)
    if type(sampler) is SequentialSampler and len(sampler) == count:
        return Epochs(*given, "SequentialSampler: the same order", _order_of_all(known))
    found = None
    if own_order:
        find = {RandomSampler: _random, WeightedRandomSampler: _by_weight}
        find |= {SubsetRandomSampler: _of_some, DistributedSampler: _of_rank}
        find_order = find.get(type(sampler))
        found = find_order(sampler, given, known) if find_order else None
    if found is not None:
        return found
    if not hasattr(sampler, "__len__"):
        raise keep(
            f"{type(sampler).__name__} does not know its length", "__len__", where_defined(sampler)
        )
    about = f"{type(sampler).__name__}: its own indices, drawn when an epoch begins"
    return Epochs(*given, about, listed=True)


def order_of(numbers: Any) -> Order:
    """Returns the order of an epoch that has these samples of the parts, each as often as it is listed."""
    import numpy as np

    is_subset = len(np.unique(numbers)) == len(numbers)
    return Subset(numbers) if is_subset else Listed(numbers)


def _order_of_all(known: Known) -> Order | None:
    return None if known.is_whole else order_of(known.numbers)


# Each gives None where the engine has no such order.


def _random(sampler: Any, given: Given, known: Known) -> Epochs | None:
    count, draws = len(known.numbers), sampler.num_samples
    if len(sampler.data_source) != count:
        return None
    if sampler.replacement:
        order = _weighted([1.0] * count, draws, known)
        return Epochs(*given, "RandomSampler: draws with replacement", order, differs=_DIFFERS)
    chosen = _order_of_all(known)
    if draws > count:
        return None  # torch puts several permutations one after the other
    about = "RandomSampler: every sample once, in a new order in every epoch"
    if draws < count:
        chosen = Repeated(1, of=chosen, draws=draws)
        about = f"RandomSampler: {draws:,} samples, others in every epoch"
    return Epochs(*given, about, chosen, options={"shuffle": True}, differs=_DIFFERS)


def _by_weight(sampler: Any, given: Given, known: Known) -> Epochs | None:
    if not sampler.replacement or len(sampler.weights) > len(known.numbers):
        return None
    about = "WeightedRandomSampler: draws with replacement, by weight"
    order = _weighted(sampler.weights, sampler.num_samples, known)
    return Epochs(*given, about, order, differs=_DIFFERS)


def _of_some(sampler: Any, given: Given, known: Known) -> Epochs | None:
    import numpy as np

    indices = np.asarray(sampler.indices)
    if indices.ndim != 1 or len(indices) == 0 or indices.dtype.kind not in "iu":
        return None
    if not fits(indices, len(known.numbers)):
        return None  # an error of torch, once such an index is drawn
    order = order_of(known.numbers[indices])
    about = "SubsetRandomSampler: its samples once, in a new order in every epoch"
    return Epochs(*given, about, order, options={"shuffle": True}, differs=_DIFFERS)


def _of_rank(sampler: Any, given: Given, known: Known) -> Epochs | None:
    _, batch, drop = given
    ranks, count = sampler.num_replicas, len(known.numbers)
    if len(sampler.dataset) != count:
        return None
    about = f"DistributedSampler: rank {sampler.rank} of {ranks}"
    if not sampler.shuffle:
        import numpy as np

        order = order_of(known.numbers[np.array(list(sampler))])
        return Epochs(*given, f"{about}, the same samples and order", order)
    # The engine cuts or fills global batches, torch the samples of a rank and then their batches.
    if drop:
        fits = sampler.drop_last or count % (ranks * batch) == 0 or math.ceil(count / ranks) % batch
    else:
        fits = not sampler.drop_last or count % ranks == 0
    if not fits:
        return None
    options = {"shuffle": True, "rank": sampler.rank, "world_size": ranks, "seed": sampler.seed}
    options["uneven"] = "drop" if drop else "pad"
    differs = (
        "a rank has another part of an epoch than torch's, in the engine's order; the parts have no sample in common, "
        "but for at most world size - 1 that fill up the last batches, as torch's do"
    )
    about += ", a new order in every epoch, also without set_epoch()"
    return Epochs(*given, about, _order_of_all(known), options=options, differs=differs)


def _weighted(weights: Any, draws: int, known: Known) -> Weighted:
    """By number of the parts; an index that repeats adds to the weight of its sample."""
    import numpy as np

    out = np.zeros(known.total)
    np.add.at(out, known.numbers[: len(weights)], np.asarray(weights, np.float64))
    return Weighted(out, draws)


def shares_random_numbers(theirs: Any, sampler: Any) -> bool:
    """Tells whether a sampler draws from the random numbers from which torch's transforms draw."""
    from torch.utils.data import DistributedSampler

    own = getattr(sampler, "generator", None) is not None or type(sampler) is DistributedSampler
    return theirs.num_workers == 0 and not own


def draw_list(theirs: Any, known: Known, sampler: Any, makes_iterator: bool) -> Any:
    """Returns the samples of one epoch, by their numbers in the parts.

    Random numbers are drawn as torch draws them: a new iterator draws the seed of its processes first.
    """
    import numpy as np
    import torch

    if makes_iterator:
        torch.empty((), dtype=torch.int64).random_(generator=theirs.generator)
    most = _ENDLESS * (len(known.numbers) + len(sampler))
    indices = list(itertools.islice(sampler, most + 1))
    if len(indices) > most:
        raise RuntimeError(f"{type(sampler).__name__} gives more than {most:,} indices in an epoch")
    return known.numbers[np.array(indices, np.int64)]
