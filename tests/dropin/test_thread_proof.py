"""tundish.accelerate(..., workers="threads", prove=N): which batches are equal, and that a proof changes nothing."""

import copy
from dataclasses import dataclass

import numpy as np
import pytest
import torch
import tundish
from torch.utils.data import BatchSampler, DataLoader, RandomSampler
from tundish.dropin.thread_proof import is_equal

from tests.helpers.torch_sets import OwnSet


@dataclass
class Batch:
    values: torch.Tensor
    weight: float


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (torch.ones(2), torch.ones(2, dtype=torch.float64)),
        (torch.ones(2), torch.ones(3)),
        ([torch.ones(2)], [torch.zeros(2)]),
        ({"a": 1}, {"b": 1}),
        ([1], (1,)),
        ("a", "b"),
        (float("nan"), 1.0),
        (1.0, float("nan")),
        ([np.float32("nan")], [np.float32(1)]),
        (Batch(torch.ones(2), float("nan")), Batch(torch.ones(2), 1.0)),
        (Batch(torch.ones(2), 1.0), Batch(torch.zeros(2), 1.0)),
        (torch.eye(2).to_sparse(), torch.ones(2, 2).to_sparse()),
        (torch.eye(2).to_sparse(), torch.eye(2)),
    ],
)
def test_batches_that_differ_are_seen(one, other):
    assert not is_equal(one, other)
    assert is_equal(one, copy.deepcopy(one))


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_sparse_tensors_of_another_kind_are_compared_by_value():
    one, other = torch.eye(2).to_sparse_csr(), torch.ones(2, 2).to_sparse_csr()
    assert is_equal(one, one.clone())
    assert not is_equal(one, other)


class Numbers:
    """Whether two of them are equal has several answers."""

    def __init__(self, samples):
        self.values = torch.tensor([index for _, index in samples])

    def __eq__(self, other):
        return self.values == other.values

    __hash__ = None


def test_batches_that_cannot_be_compared_keep_processes():
    loader = DataLoader(OwnSet(), 4, num_workers=1, collate_fn=Numbers)
    ours = tundish.accelerate(loader, workers="threads", prove=2)
    assert ours.report.workers == "processes"
    assert "batches of type Numbers cannot be compared" in ours.report.proof


class Pairs(OwnSet):
    def __getitem__(self, index):
        return index


@pytest.mark.parametrize("depth", [1, 2])
def test_a_proof_does_not_change_the_order_of_samplers_inside_samplers(depth):
    def batches(**options):
        sampler = RandomSampler(range(23), generator=torch.Generator().manual_seed(1))
        for _ in range(depth):
            sampler = BatchSampler(sampler, 2, True)
        loader = DataLoader(Pairs(), batch_sampler=sampler, num_workers=1, collate_fn=list)
        ours = tundish.accelerate(loader, workers="threads", **options)
        assert ours.report.workers == "threads"
        return list(ours)

    assert batches(prove=2) == batches()
