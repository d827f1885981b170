"""Tricks under DistributedDataParallel: two processes train like one with the whole batch."""

import pytest
import torch
from tundish.tuning.tricks import trick_from_json
from tundish.tuning.tricks.ddp import DdpOptions

from tests.helpers import ddp_child
from tests.helpers.steps import sgd_step
from tests.helpers.two_ranks import run_two_ranks


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Weights and facts of both ranks, by case."""
    return run_two_ranks("tests.helpers.ddp_child", tmp_path_factory.mktemp("ranks"))


@pytest.fixture(scope="module")
def expected():
    """Weights of one process that trains on the whole batches."""
    step = sgd_step(ddp_child.model_of())
    for batch in ddp_child.batches_of():
        step(batch)
    return step.model.state_dict()


@pytest.mark.parametrize("case", ddp_child.CASES)
def test_two_ranks_give_the_weights_of_one_process_with_the_whole_batch(case, ranks, expected):
    (first, facts), (second, _) = (of_rank[case] for of_rank in ranks)
    for name, value in expected.items():
        assert torch.equal(first[name], second[name])
        torch.testing.assert_close(first[name], value, rtol=1e-11, atol=1e-13)
    has_options = case not in ("plain", "accumulate")
    assert facts["wrapped anew"] == facts["bucket view"] == has_options
    assert facts["static"] == case.startswith("static")
    assert facts["undone"]


def test_a_plan_of_the_bare_model_is_applied_under_distributed_data_parallel(ranks, expected):
    for name, value in expected.items():
        assert torch.equal(ranks[0]["plan"][name], ranks[1]["plan"][name])
        torch.testing.assert_close(ranks[0]["plan"][name], value, rtol=1e-11, atol=1e-13)


def test_gradients_are_reduced_once_per_step_not_per_micro_batch(ranks):
    assert ranks[0]["accumulate"][1]["sent"] == 2  # two steps of three micro-batches each


def test_a_static_graph_and_accumulation_exclude_each_other(ranks):
    assert "static_graph" in ranks[0]["static"][1]["accumulating is"]
    assert "static_graph" in ranks[0]["bucket view, accumulate"][1]["static is"]


def test_existing_options_and_hooks_are_obstacles(ranks):
    assert "already" in ranks[0]["bucket view"][1]["the same is"]
    assert "communication hook" in ranks[0]["accumulate"][1]["the same is"]


def test_a_model_that_is_not_parallel_is_an_obstacle():
    step = sgd_step(torch.nn.Linear(2, 2))
    assert "not a DistributedDataParallel" in DdpOptions().obstacle(step)


def test_a_plan_file_keeps_its_options_and_its_code_names_them():
    trick = DdpOptions(gradient_as_bucket_view=False, static_graph=True)
    assert trick_from_json(trick.as_json()) == trick
    assert trick.code() == [
        "model = DistributedDataParallel(model, device_ids=[...], static_graph=True)"
    ]
