"""Copies of cached batches: a loop may change a batch, and gets the batch unchanged again."""

import collections
import dataclasses
import enum

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, default_collate
from tundish.diagnosis.probe.loaders.batch_copy import MOST_VALUES, copy_batch
from tundish.diagnosis.probe.loaders.cached_batches import batch_structure

from tests.helpers import plants


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: torch.Tensor
    y: list


@dataclasses.dataclass
class Slots:
    __slots__ = ("x", "y")
    x: torch.Tensor
    y: list


class Items(collections.UserDict):
    pass


class Words(list):
    pass


class Kind(enum.Enum):
    TRAIN = "train"


def x_of(batch):
    if hasattr(batch, "x"):
        return batch.x
    return batch["x"] if isinstance(batch, collections.abc.Mapping) else batch[0]


MAKE = {
    "frozen": Frozen,
    "slots": Slots,
    "user dict": lambda x, y: Items(x=x, y=y),
    "default dict": lambda x, y: collections.defaultdict(list, x=x, y=y),
    "deque": lambda x, y: collections.deque([x, y]),
    "list of a class": lambda x, y: Words([x, y]),
    "tuple": lambda x, y: (x, [y]),
    "array": lambda x, y: [x.numpy(), y],
}


@pytest.mark.parametrize("kind", MAKE)
def test_a_copy_shares_nothing_that_a_loop_may_change(kind):
    batch = MAKE[kind](torch.ones(3), [1, 2])
    done = copy_batch(batch)
    assert type(done) is type(batch)
    x_of(done)[...] = 7
    assert x_of(batch)[0] == 1
    assert x_of(copy_batch(done))[0] == 7


def test_shared_parts_stay_shared_and_constants_are_not_copied():
    part, size = torch.ones(2), torch.Size([2, 3])
    batch = {"a": part, "b": [part], "size": size, "kind": Kind.TRAIN, "text": "t", "f": len}
    batch["itself"] = batch
    done = copy_batch(batch)
    assert done["a"] is done["b"][0] is not part
    assert done["itself"] is done
    assert done["size"] is size
    assert done["kind"] is Kind.TRAIN
    assert done["f"] is len
    assert batch_structure(done) == batch_structure(batch)


@pytest.mark.parametrize("batch", [iter([1]), [[[]] for _ in range(MOST_VALUES + 1)]])
def test_batches_that_cannot_be_copied_are_refused(batch):
    with pytest.raises((TypeError, ValueError)):
        copy_batch(batch)


def destroyed(batch):
    """Takes the parts out of a batch and spoils what is left."""
    x, y = batch.pop("x"), batch.pop("y")
    rows = batch.pop("rows")
    assert rows.sum() == 3
    rows -= 1
    batch.clear()
    return x, y


def test_a_loop_may_take_its_batches_apart():
    """As `labels = batch.pop("labels")` of a BatchEncoding of transformers."""

    def together(samples):
        x, y = default_collate(samples)
        return Items(x=x, y=y, rows=np.ones(3))

    with plants.watched() as session:
        plants.train(
            (destroyed(batch) for batch in DataLoader(plants.Samples(), 4, collate_fn=together)),
            session=session,
        )
    assert session.watch.phase == "done"
    assert not session.watch.failed
    assert any(step.phase == "cached" and not step.boundary for step in session.watch.steps)
