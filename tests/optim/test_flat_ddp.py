"""Flat parameters under DistributedDataParallel: two processes, bitwise equal to no flatten()."""

import pytest

from tests.helpers import flat_ddp_child
from tests.helpers.flat_models import same
from tests.helpers.two_ranks import run_two_ranks


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Weights of both ranks, by case and by the flattened model."""
    return run_two_ranks("tests.helpers.flat_ddp_child", tmp_path_factory.mktemp("flat_ranks"))


@pytest.mark.parametrize("flatten", ["bare", "wrapped"])
@pytest.mark.parametrize("case", flat_ddp_child.CASES)
def test_two_ranks_train_like_without_flatten(case, flatten, ranks):
    first, second = (of_rank[case] for of_rank in ranks)
    assert same(first[""], second[""])
    assert same(first[flatten], second[flatten])
    assert same(first[flatten], first[""])
