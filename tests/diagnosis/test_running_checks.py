"""Checks of the running script: each finds its planted loop and nothing in the clean twin."""

import linecache

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset
from tundish.diagnosis.probe.facts import ObservedFacts
from tundish.diagnosis.probe.observations import Observations
from tundish.diagnosis.rules.runtime import RULES, check_run
from tundish.diagnosis.verdict.static_findings import with_costs
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers import plants
from tests.helpers.written_facts import ON_GPU, facts, line, loader, sampled, step

HERE = "test_running_checks.py"


class Network(torch.nn.Module):
    """Has a used, an unused and a detached layer, and a layer with a gradient but no call."""

    def __init__(self, unused=False, detached=False):
        super().__init__()
        self.first, self.last = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)
        self.direct = torch.nn.Linear(4, 4)
        self.spare = torch.nn.Linear(4, 4) if unused else None
        self.side = torch.nn.Linear(4, 4) if detached else None

    def forward(self, x):
        x = torch.nn.functional.linear(self.first(x), self.direct.weight, self.direct.bias)
        if self.side is not None:
            x = x + self.side(x).detach()
        return self.last(x)


def run(model=None, data=None, trained=None, validate=None):
    """Returns the ids found, and the findings by id."""
    model = model or Network()
    data = data or TensorDataset(torch.ones(400, 4), torch.zeros(400, dtype=torch.int64))
    optimizer = torch.optim.SGD(trained or model.parameters(), 0.01)
    with plants.watched(cached_batches=0) as session:
        for number, (x, y) in enumerate(DataLoader(data, 8)):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if validate is not None and number == 4:
                validate(model, x)
    seen = session.end()
    assert seen.phase == "done"
    return {one["check"]: one for one in check_run(seen)}


def validate_with_graph(model, x):
    model.eval()
    model(x)
    model.train()


@torch.no_grad()
def validate_well(model, x):
    validate_with_graph(model, x)


def test_clean_loops_have_no_findings():
    frozen = Network()
    frozen.first.requires_grad_(False)
    assert run(validate=validate_well) == {}
    assert run(frozen, trained=[p for p in frozen.parameters() if p.requires_grad]) == {}
    attention = torch.nn.TransformerEncoderLayer(
        4, 2, 8, batch_first=True
    )  # uses out_proj without a call
    assert (
        run(torch.nn.Sequential(torch.nn.Unflatten(1, (1, 4)), attention, torch.nn.Flatten())) == {}
    )


def test_a_module_that_is_never_called_is_found():
    found = run(Network(unused=True))
    assert set(found) == {"never-called-module"}
    assert found["never-called-module"]["text"].startswith("spare (Linear): never called")


def test_a_parameter_without_gradients_is_found():
    found = run(Network(detached=True))
    assert set(found) == {"parameter-without-gradient"}
    assert "side.weight, side.bias: no gradient" in found["parameter-without-gradient"]["text"]


def test_gradients_without_an_optimizer_are_found():
    model = Network()
    found = run(model, trained=model.last.parameters())
    assert set(found) == {"gradient-without-optimizer"}
    assert "first.weight" in found["gradient-without-optimizer"]["text"]
    assert "(80% of the parameters)" in found["gradient-without-optimizer"]["text"]


def test_a_validation_that_builds_a_graph_has_its_line():
    found = run(validate=validate_with_graph)
    assert set(found) == {"evaluation-builds-graph"}
    one = found["evaluation-builds-graph"]
    assert one["file"].endswith(HERE)
    assert linecache.getline(one["file"], one["line"]) == "    model(x)\n"


def validate_in_train_mode(model, x):
    for (rows,) in DataLoader(TensorDataset(x), 2):
        model(rows)


def test_a_validation_without_eval_and_without_no_grad_has_its_line():
    found = run(validate=validate_in_train_mode)
    assert set(found) == {"evaluation-builds-graph"}
    one = found["evaluation-builds-graph"]
    assert one["text"].startswith("4 forward passes in training mode without a backward pass")
    assert linecache.getline(one["file"], one["line"]) == "        model(rows)\n"


@pytest.mark.parametrize("uses_backward", [True, False])
def test_an_attack_in_evaluation_mode_is_not_a_validation(uses_backward):
    """Adversarial training needs the graph of the attack, for the gradient of its input."""
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    rows = TensorDataset(torch.ones(400, 4), torch.zeros(400, dtype=torch.int64))
    with plants.watched(cached_batches=0) as session:
        for x, y in DataLoader(rows, 8):
            model.eval()
            loss = torch.nn.functional.cross_entropy(model(x.requires_grad_()), y)
            if uses_backward:
                loss.backward()
                x = x.detach() + x.grad.sign()
            else:
                x = x.detach() + torch.autograd.grad(loss, x)[0].sign()
            model.train()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    assert check_run(session.end()) == []


@pytest.mark.parametrize("every", [1000, 15])
def test_an_optimizer_that_steps_rarely_uses_its_gradients(every):
    """As the generator's of a GAN with many steps of the critic."""
    rare, often = torch.nn.Sequential(torch.nn.Linear(4, 4)), torch.nn.Linear(4, 1)
    first = torch.optim.SGD(rare.parameters(), 0.01)
    second = torch.optim.SGD(often.parameters(), 0.01)
    with plants.watched(cached_batches=0) as session:
        for number, (x,) in enumerate(DataLoader(TensorDataset(torch.ones(400, 4)), 8)):
            second.zero_grad()
            often(rare(x)).sum().backward()
            second.step()
            if number % every == every - 1:
                first.step()
                first.zero_grad()
    assert check_run(session.end()) == []


def test_a_model_at_the_address_of_a_deleted_one_is_observed():
    observed, numbers = Observations(), set()
    for _ in range(20):  # as in cross-validation; a new model soon has the id of an old one
        model = torch.nn.Linear(4, 4)
        observed.root_called(model, True, None)
        assert observed.largest_root() is model
        numbers.add(id(model))
        del model
    assert len(numbers) < 20


def test_prefetching_a_batch_before_backward_is_not_a_validation():
    model, data = Network(), TensorDataset(torch.ones(400, 4), torch.zeros(400, dtype=torch.int64))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with plants.watched(cached_batches=0) as session:
        batches = iter(DataLoader(data, 8))
        x, y = next(batches)
        for _ in range(45):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            x, y = next(batches)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert check_run(session.end()) == []


def test_double_precision_of_model_and_batches_is_found():
    rows = torch.from_numpy(np.ones((400, 4)))
    labels = torch.zeros(400, dtype=torch.int64)
    double = run(Network().double(), TensorDataset(rows, labels))
    assert double["double-precision"]["text"] == "the model has float64 parameters"

    class Casts(Network):
        def forward(self, x):
            return super().forward(x.float())

    batches = run(Casts(), TensorDataset(rows, labels))
    assert batches["double-precision"]["text"].startswith("batches contain float64 tensors")


OBSERVED = ObservedFacts(
    steps=9,
    parameters=9,
    types=[],
    never_called=[],
    never_called_count=0,
    without_gradient=[],
    without_gradient_count=0,
    unused_gradients=[],
    unused_gradient_elements=0,
    modes=[],
    shapes=9,
    batch_types=[],
    cudnn_benchmark=True,
)


@pytest.mark.parametrize(
    ("more", "ids"),
    [
        ({}, []),
        ({"torch": ON_GPU}, ["benchmark-many-shapes"]),
        ({"loader": loader(num_workers=9)}, ["more-workers-than-cpus"]),
        ({"loader": loader(num_workers=8)}, []),
        ({"loader": sampled([], 1.0, blocked_s=0.6, workers=9)}, []),
        ({"loader": sampled([], 1.0, blocked_s=0.4, workers=9)}, ["more-workers-than-cpus"]),
    ],
)  # fmt: skip
def test_checks_work_on_facts_written_by_hand(more, ids):
    seen = facts([step()], observed=OBSERVED, **more)
    assert [one["check"] for one in check_run(seen)] == ids


def test_every_check_is_found_by_some_test_above():
    with open(__file__) as file:
        text = file.read()
    for name in RULES:
        assert f'"{name}"' in text, name


def test_gpu_only_findings_are_omitted_on_a_cpu():
    texts = {"item-in-loop": "r", "no-workers": "num_workers=4 and more", "gc-in-loop": "r"}
    findings = [
        {"file": "/a/train.py", "line": 3, "check": name, "text": "t", "fix": fix}
        for name, fix in texts.items()
    ]
    verdict = judge(facts([step()] * 20, cpus=1))
    found = {one["check"]: one["fix"] for one in with_costs(findings, verdict)}
    assert found == {"no-workers": "num_workers=1 and more", "gc-in-loop": "r"}
    assert "1 finding of tundish check omitted" in verdict.notes[-1]
    on_gpu = judge(facts([step()] * 20, torch=ON_GPU))
    assert len(with_costs(findings, on_gpu)) == 3


def test_the_cost_of_a_line_comes_from_its_samples():
    verdict = judge(facts([step(other=0.067)] * 20, lines=[line("other", 0.6), line("data", 0.1)]))
    places = [("/a/train.py", 3), ("/a/train.py", 9), ("", 0)]
    findings = [{"file": file, "line": at, "text": "t", "fix": "r"} for file, at in places]
    found = with_costs(findings, verdict)
    assert [one["line"] for one in found] == [9, 3, 0]
    assert found[0]["seconds"] == pytest.approx(0.067 * 6 / 7)  # the saving of the proposed change
    verdict.findings = found
    assert "train.py:9  t (57.4 ms per step)" in str(verdict)
    assert "train.py:9 (f) takes 57.4 ms per step outside the model" in str(verdict)
    verdict = judge(facts([step(other=0.067)] * 20, lines=[line("other", 0.04)]))
    assert with_costs(findings, verdict)[0]["seconds"] is None  # four samples are too few
