"""Optimizers in two processes, under DistributedDataParallel and FullyShardedDataParallel.

Plain sharded tensors work; parameters that cannot be updated correctly are refused by name.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.helpers.two_ranks import run_two_ranks

from .every import ELEMENTWISE, EVERY
from .ulps import ulps


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_two_ranks("tests.helpers.optim_ddp_child", tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("name", EVERY)
def test_ranks_stay_together(name: str, ranks: Any) -> None:
    assert all(map(torch.equal, ranks[0][name], ranks[1][name]))


@pytest.mark.parametrize("name", ["AdamW", "LAMB"])
def test_gradients_that_are_views_of_buckets_change_nothing(name: str, ranks: Any) -> None:
    assert all(map(torch.equal, ranks[0][name], ranks[0][name + ", bucket view"]))


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_ranks_train_like_with_torchs_optimizer(name: str, ranks: Any) -> None:
    """The runs are independent, so the model amplifies rounding differences over 20 steps."""
    for ours, theirs in zip(ranks[0][name], ranks[0]["torch's " + name]):
        assert ulps(ours, theirs) <= 1000


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_plain_sharded_tensors_train_like_whole_tensors(name: str, ranks: Any) -> None:
    """The reduction order differs from DistributedDataParallel; Lion's sign amplifies rounding."""
    assert all(map(torch.equal, ranks[0]["sharded " + name], ranks[1]["sharded " + name]))
    for part, whole in zip(ranks[0]["sharded " + name], ranks[0][name]):
        assert name == "Lion" or ulps(part, whole) <= 1000


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_plain_sharded_tensors_train_like_with_torchs_optimizer(name: str, ranks: Any) -> None:
    for ours, theirs in zip(ranks[0]["sharded " + name], ranks[0]["torch's sharded " + name]):
        assert ulps(ours, theirs) <= 1000


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("LAMB", "LAMB needs the norm of each tensor, and parameter 0 of group 0 ("),
        ("max_norm", "max_norm needs all gradients, and parameter 0 of group 0 ("),
        ("scaler", "GradScaler needs all gradients, and parameter 0 of group 0 ("),
    ],
)
def test_optimizers_that_need_whole_tensors_refuse_shards(case: str, text: str, ranks: Any) -> None:
    for rank in ranks:
        assert text in rank["refused " + case]
        assert "is sharded by FullyShardedDataParallel\n  fix: " in rank["refused " + case]


def test_a_sharded_parameter_is_refused_by_name(ranks: Any) -> None:
    for rank in ranks:
        assert "parameter 0 of group 0 (0.weight) is a DTensor" in rank["refusal"]
        assert "fix:" in rank["refusal"]


def test_ranks_round_alike_although_each_has_its_own_seed(ranks: Any) -> None:
    assert all(map(torch.equal, ranks[0]["stochastic rounding"], ranks[1]["stochastic rounding"]))


def test_a_part_of_the_parameters_is_not_clipped_by_its_own_norm(ranks: Any) -> None:
    for rank in ranks:
        assert "ZeroRedundancyOptimizer" in rank["zero max_norm"]
        assert "fix: pass no max_norm" in rank["zero max_norm"]
        assert "fix: pass max_grad_norm=None" in rank["zero LAMB"]
        assert rank["zero AdamW"] == "no error"
