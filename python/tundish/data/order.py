"""Orders: which samples an epoch visits, and how often, as in `Loader(..., order=tundish.Balanced())`.

Each order is a pure function of seed, epoch and position. docs/internals/order.md lists the guarantees.
Lists of samples are passed to the engine only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._c.structs import LoaderLists
from .settings import argument_checks as checks

_MOST_DRAWS = 2**48


class Order:
    """Base class of orders. Without an order, an epoch visits every sample once."""

    shuffles = False  # whether the order is random even with shuffle=False

    def _fill(self, options: dict[str, Any], lists: LoaderLists, sizes: Sequence[int]) -> None:
        """Adds the order to the engine's options. `sizes`: number of samples of each path."""
        raise TypeError(f"{type(self).__name__} is not an order of tundish")


class Subset(Order):
    """Visits only the given samples, each once: Subset([0, 5, 7]) or Subset(range(100))."""

    def __init__(self, samples: Any) -> None:
        self.samples = _numbers(samples, "samples")

    def _fill(self, options: dict[str, Any], lists: LoaderLists, sizes: Sequence[int]) -> None:
        lists.put("samples", "sample_count", self.samples)

    def __repr__(self) -> str:
        return f"Subset({len(self.samples):,} samples)"


class Listed(Order):
    """Visits each sample as often as it is listed. Repetitions are augmented differently."""

    def __init__(self, samples: Any) -> None:
        self.samples = _numbers(samples, "samples")

    def _fill(self, options: dict[str, Any], lists: LoaderLists, sizes: Sequence[int]) -> None:
        options["sampling"] = "listed"
        lists.put("samples", "sample_count", self.samples)

    def __repr__(self) -> str:
        return f"Listed({len(self.samples):,} samples)"


class Weighted(Order):
    """Draws samples with replacement, by weight, like torch.utils.data.WeightedRandomSampler.

    weights   one weight per sample, 0 or more
    draws     draws per epoch; default: the number of samples
    """

    shuffles = True

    def __init__(self, weights: Any, draws: int | None = None) -> None:
        self.weights = _weights(weights)
        self.draws = _draws(draws)

    def _fill(self, options: dict[str, Any], lists: LoaderLists, sizes: Sequence[int]) -> None:
        options["sampling"] = "weighted"
        options["draws"] = self.draws or 0
        lists.put("weights", "weight_count", self.weights)

    def __repr__(self) -> str:
        return f"Weighted({len(self.weights):,} weights{_tail(self.draws)})"


class Balanced(Order):
    """Visits every class equally often. A sample is repeated only after all other samples of its class.

    draws     draws per epoch; default: the number of samples
    of        a Subset to draw from; default: all samples
    """

    def __init__(self, draws: int | None = None, *, of: Subset | None = None) -> None:
        if of is not None and not isinstance(of, Subset):
            raise TypeError(f"Balanced(of=...) takes a Subset, not {of!r}")
        self.draws = _draws(draws)
        self.of = of

    def _fill(self, options: dict[str, Any], lists: LoaderLists, sizes: Sequence[int]) -> None:
        if self.of is not None:
            self.of._fill(options, lists, sizes)
        options["sampling"] = "groups"
        options["draws"] = self.draws or 0

    def __repr__(self) -> str:
        return f"Balanced({'' if self.of is None else f'of={self.of!r}'}{_tail(self.draws)})"


class Mixture(Order):
    """Mixes groups of samples in fixed proportions. Each group cycles through its samples.

    weights   one weight per group, above 0: Mixture([0.7, 0.3])
    groups    sample numbers of each group; default: one group per path, Loader(["a.tnd", "b.tnd"], ...)
    draws     draws per epoch; default: the number of samples
    """

    def __init__(
        self, weights: Any, groups: Sequence[Any] | None = None, draws: int | None = None
    ) -> None:
        self.weights = _weights(weights)
        self.groups = None if groups is None else [_numbers(g, "groups") for g in groups]
        self.draws = _draws(draws)

    def _fill(self, options: dict[str, Any], lists: LoaderLists, sizes: Sequence[int]) -> None:
        import numpy as np

        if self.groups is not None:
            sizes = [len(group) for group in self.groups]
        if len(sizes) != len(self.weights):
            what = "paths" if self.groups is None else "groups"
            raise ValueError(f"Mixture: {len(self.weights)} weights for {len(sizes)} {what}")
        options["sampling"] = "groups"
        options["draws"] = self.draws or 0
        lists.put("weights", "weight_count", self.weights)
        lists.put("group_sizes", "group_count", np.array(sizes, np.uint64))
        if self.groups is not None:
            lists.put("samples", "sample_count", np.concatenate(self.groups))

    def __repr__(self) -> str:
        return f"Mixture({[float(w) for w in self.weights]}{_tail(self.draws)})"


class Repeated(Order):
    """Visits each sample `times` times in a row with different augmentations (repeated augmentation).

    times     number of times to visit each sample
    of        the order to repeat; default: every sample once
    draws     draws per epoch, including repetitions; default: the number of draws of the other order.
              An epoch then keeps its length and visits fewer samples, as with timm's RASampler
    """

    def __init__(self, times: int, *, of: Order | None = None, draws: int | None = None) -> None:
        if isinstance(of, Repeated) or not isinstance(of, Order | None):
            raise TypeError(
                f"Repeated(of=...) takes Subset, Weighted, Balanced or Mixture, not {of!r}"
            )
        self.times = checks.positive(times, "times")
        self.of = of
        self.draws = _draws(draws)
        self.shuffles = of is not None and of.shuffles

    def _fill(self, options: dict[str, Any], lists: LoaderLists, sizes: Sequence[int]) -> None:
        if self.of is not None:
            self.of._fill(options, lists, sizes)
        options["repeats"] = self.times
        if self.draws is not None:
            options["draws"] = self.draws

    def __repr__(self) -> str:
        of = "" if self.of is None else f", of={self.of!r}"
        return f"Repeated({self.times}{of}{_tail(self.draws)})"


def add_order(
    order: Any, options: dict[str, Any], lists: LoaderLists, sizes: Sequence[int]
) -> None:
    """Passes an order to the engine: adds names and numbers to `options`, and arrays to `lists`."""
    if not isinstance(order, Order):
        raise TypeError(
            f"{order!r} is not an order: use tundish.Subset, Weighted, Balanced, Repeated or Mixture"
        )
    order._fill(options, lists, sizes)


def _numbers(values: Any, name: str) -> Any:
    import numpy as np

    array = np.asarray(values if hasattr(values, "__len__") else list(values))
    if array.ndim != 1 or len(array) == 0 or array.dtype.kind not in "iu" or array.min() < 0:
        raise ValueError(f"{name} must be a flat sequence of sample numbers, at least one")
    return np.ascontiguousarray(array, dtype=np.uint64)


def _weights(values: Any) -> Any:
    import numpy as np

    array = np.ascontiguousarray(np.asarray(values), dtype=np.float64)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError("weights must be a flat sequence of numbers, at least one")
    return array


def _draws(draws: int | None) -> int | None:
    return None if draws is None else checks.whole(draws, "draws", least=1, most=_MOST_DRAWS)


def _tail(draws: int | None) -> str:
    return "" if draws is None else f", draws={draws:,}"
