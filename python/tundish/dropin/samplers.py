"""Translates torch's samplers to orders of the engine.

If a sampler has no equivalent order, its own indices are drawn at the start of every epoch.
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass, field
from typing import Any

from ..data.order import Listed, Order, Repeated, Subset, Weighted
from .datasets.known_datasets import KnownDataset, fits
from .datasets.parts import by_index
from .reasons import not_translated
from .replaced_functions import is_replaced
from .where_defined import where_defined

_ENDLESS = 16  # a sampler that yields this many times its length counts as endless
_DIFFERS = "the order of an epoch is drawn by the engine and differs from torch's for the same seed"

Given = tuple[Any, int, bool]  # sampler, batch_size, drop_last


@dataclass(frozen=True)
class Epochs:
    """The samples of an epoch, and their order."""

    sampler: Any
    batch_size: int
    drop_last: bool
    about: str  # description for the report
    order: Order | None = None
    listed: bool = False  # whether the sampler's own indices are drawn in every epoch
    options: dict[str, Any] = field(default_factory=dict)  # arguments of the Loader
    differs: str = ""


def epochs_of(dataloader: Any, known: KnownDataset, own_order: bool) -> Epochs:
    """Returns which samples a DataLoader visits in an epoch, and in which order.

    own_order  use an equivalent order of the engine, if there is one; otherwise use the sampler's indices
    """
    from torch.utils.data import (
        BatchSampler,
        DistributedSampler,
        RandomSampler,
        SequentialSampler,
        SubsetRandomSampler,
        WeightedRandomSampler,
    )

    batches = dataloader.batch_sampler
    if type(batches) is not BatchSampler:
        raise not_translated(
            f"{type(batches).__name__} makes its own batches",
            "use batch_size= and sampler=",
            where_defined(batches),
        )
    sampler = batches.sampler
    given = (sampler, batches.batch_size, batches.drop_last)
    count = len(known.numbers)
    own_order = own_order and not is_replaced(type(sampler).__iter__)
    is_plain = not is_replaced(SequentialSampler.__iter__)
    if type(sampler) is SequentialSampler and is_plain and len(sampler) == count:
        return Epochs(*given, "SequentialSampler: the same order", _order_of_all(known))
    found = None
    if own_order:
        find = {RandomSampler: _random_order, WeightedRandomSampler: _weighted_order}
        find |= {SubsetRandomSampler: _subset_order, DistributedSampler: _rank_order}
        find_order = find.get(type(sampler))
        found = find_order(sampler, given, known) if find_order else None
    if found is not None:
        return found
    if not hasattr(sampler, "__len__"):
        raise not_translated(
            f"{type(sampler).__name__} has no length", "define __len__", where_defined(sampler)
        )
    about = f"{type(sampler).__name__}: its own indices, drawn at the start of each epoch"
    return Epochs(*given, about, listed=True)


def order_of(numbers: Any) -> Order:
    """Returns the order of an epoch with these samples, each as often as it is listed."""
    import numpy as np

    is_subset = len(np.unique(numbers)) == len(numbers)
    return Subset(numbers) if is_subset else Listed(numbers)


def _order_of_all(known: KnownDataset) -> Order | None:
    return None if known.is_whole else order_of(known.numbers)


# Each of the following functions returns None if the engine has no equivalent order.


def _random_order(sampler: Any, given: Given, known: KnownDataset) -> Epochs | None:
    count, draws = len(known.numbers), sampler.num_samples
    if len(sampler.data_source) != count:
        return None
    if sampler.replacement:
        order = _expand_weights([1.0] * count, draws, known)
        return Epochs(*given, "RandomSampler: draws with replacement", order, differs=_DIFFERS)
    chosen = _order_of_all(known)
    if draws > count:
        return None  # torch concatenates several permutations, which no order of the engine does
    about = "RandomSampler: every sample once, in a new order in every epoch"
    if draws < count:
        chosen = Repeated(1, of=chosen, draws=draws)
        about = f"RandomSampler: {draws:,} samples, different in every epoch"
    return Epochs(*given, about, chosen, options={"shuffle": True}, differs=_DIFFERS)


def _weighted_order(sampler: Any, given: Given, known: KnownDataset) -> Epochs | None:
    if not sampler.replacement or len(sampler.weights) > len(known.numbers):
        return None
    about = "WeightedRandomSampler: draws with replacement, by weight"
    order = _expand_weights(sampler.weights, sampler.num_samples, known)
    return Epochs(*given, about, order, differs=_DIFFERS)


def _subset_order(sampler: Any, given: Given, known: KnownDataset) -> Epochs | None:
    import numpy as np

    indices = np.asarray(by_index(sampler.indices))
    if indices.ndim != 1 or len(indices) == 0 or indices.dtype.kind not in "iu":
        return None
    if not fits(indices, len(known.numbers)):
        return None  # torch raises an error when it reaches such an index
    order = order_of(known.numbers[indices])
    about = "SubsetRandomSampler: its samples once, in a new order in every epoch"
    return Epochs(*given, about, order, options={"shuffle": True}, differs=_DIFFERS)


def _rank_order(sampler: Any, given: Given, known: KnownDataset) -> Epochs | None:
    _, batch, drop = given
    ranks, count = sampler.num_replicas, len(known.numbers)
    if len(sampler.dataset) != count:
        return None
    about = f"DistributedSampler: rank {sampler.rank} of {ranks}"
    if not sampler.shuffle:
        import numpy as np

        indices = np.array(list(sampler), np.int64)
        if not len(indices):
            return None
        order = order_of(known.numbers[indices])
        return Epochs(*given, f"{about}, the same samples and order", order)
    # The engine truncates or fills global batches. torch first truncates or fills the samples of a rank.
    if drop:
        fits = sampler.drop_last or count % (ranks * batch) == 0 or math.ceil(count / ranks) % batch
    else:
        fits = not sampler.drop_last or count % ranks == 0
    if not fits:
        return None
    options = {"shuffle": True, "rank": sampler.rank, "world_size": ranks, "seed": sampler.seed}
    options["uneven"] = "drop" if drop else "pad"
    differs = (
        "a rank gets another part of an epoch than in torch, in the engine's order; ranks share no samples, "
        "except for at most world size - 1 that fill the last batches, as in torch"
    )
    about += ", a new order in every epoch, even without set_epoch()"
    return Epochs(*given, about, _order_of_all(known), options=options, differs=differs)


def _expand_weights(weights: Any, draws: int, known: KnownDataset) -> Weighted:
    """Returns an order of weighted draws. If the dataset repeats a sample, the weights of its indices are added."""
    import numpy as np

    out = np.zeros(known.total)
    np.add.at(out, known.numbers[: len(weights)], np.asarray(weights, np.float64))
    return Weighted(out, draws)


def shares_random_numbers(dataloader: Any, sampler: Any) -> bool:
    """Returns whether a sampler and torch's transforms draw from the same generator."""
    from torch.utils.data import DistributedSampler

    own = getattr(sampler, "generator", None) is not None or type(sampler) is DistributedSampler
    return dataloader.num_workers == 0 and not own


def draw_worker_seed(dataloader: Any) -> None:
    """Draws the seed of the worker processes, as a new torch iterator does before it uses the sampler."""
    import torch

    torch.empty((), dtype=torch.int64).random_(generator=dataloader.generator)


def draw_list(known: KnownDataset, sampler: Any) -> Any:
    """Returns the samples of one epoch, as positions in the concatenated parts."""
    most = _ENDLESS * (len(known.numbers) + len(sampler))
    indices = list(itertools.islice(sampler, most + 1))
    if len(indices) > most:
        raise RuntimeError(f"{type(sampler).__name__} yields more than {most:,} indices per epoch")
    return known.numbers[_whole_numbers(indices)]


def _whole_numbers(indices: list[Any]) -> Any:
    """Converts indices to an array. Raises TypeError where indexing a list would."""
    import numpy as np

    if not set(map(type, indices)) <= {int}:
        indices = [operator.index(index) for index in indices]
    return np.array(indices, np.int64)


class SamplerGenerator:
    """Keeps the generator of a RandomSampler in the state that torch would leave it in.

    draw_list() exhausts the sampler at the start of an epoch, but torch asks it batch by batch. If a loop ends early,
    the sampler of torch has therefore drawn fewer random numbers, which changes the order of later epochs.
    """

    def __init__(self, dataloader: Any) -> None:
        from torch.utils.data import RandomSampler

        sampler = dataloader.batch_sampler.sampler
        is_known = type(sampler) is RandomSampler
        self._generator: Any = sampler.generator if is_known else None
        self._dataloader = dataloader
        self._states: tuple[Any, Any] | None = None  # before and after the list was drawn

    def draw(self, known: KnownDataset, sampler: Any) -> Any:
        """Returns draw_list(known, sampler), and remembers the states of the generator."""
        if self._generator is None:
            return draw_list(known, sampler)
        before = self._generator.get_state()
        numbers = draw_list(known, sampler)
        self._states = before, self._generator.get_state()
        return numbers

    def end_early(self, batches: int) -> None:
        """Sets the generator to its state after `batches` batches, unless other code has used it since."""
        import torch

        states, self._states = self._states, None
        if states is None or not torch.equal(self._generator.get_state(), states[1]):
            return
        self._generator.set_state(states[0])
        ahead = self._dataloader.num_workers * (self._dataloader.prefetch_factor or 0)
        for _ in itertools.islice(self._dataloader.batch_sampler, batches + ahead):
            pass
