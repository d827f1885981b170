"""Layers in a watched training loop are measured in labeled steps; other steps have no hooks."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tundish.diagnosis.report.verdict_page import report_page
from tundish.diagnosis.report.verdict_text import verdict_text
from tundish.diagnosis.verdict.verdict import judge

from tests.helpers import plants

HOOKS = torch.nn.modules.module._global_forward_hooks


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(inplace=True))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return {"logits": self.head(self.body(x))}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def train(model, session, micro_batches=1, validate=False, most=60, data=None):
    """Returns each step's phase and the number of torch's global hooks in its forward pass."""
    data = data or TensorDataset(torch.ones(4000, 8), torch.zeros(4000, dtype=torch.int64))
    optimizer, loss_fn = torch.optim.SGD(model.parameters(), 0.01), nn.CrossEntropyLoss()
    seen = []
    for number, (x, y) in enumerate(DataLoader(data, 8)):
        optimizer.zero_grad()
        for _ in range(micro_batches):
            out = model(x)
            loss_fn(out["logits"] if isinstance(out, dict) else out, y).backward()
        seen.append((session.watch.phase, len(HOOKS)))
        if validate:
            with torch.no_grad():
                model(x)
        optimizer.step()
        if number == most or session.watch.phase == "done":
            break
    return seen


def watched(model, most=60, micro_batches=1, validate=False, **settings):
    with plants.watched(**{"layers": 2, **settings}) as session:
        seen = train(model, session, micro_batches, validate, most)
    return session.end(), seen


def test_layers_are_measured_in_steps_of_their_own():
    facts, seen = watched(Network())
    assert facts.phase == "done"
    assert sum(one.phase == "layers" for one in facts.steps) == 3  # one counts, two are timed
    assert {phase for phase, hooks in seen if hooks} == {"layers"}
    assert len(HOOKS) == 0
    found = {one.name: one for one in facts.layers.rows}
    assert {"", "body", "body.0", "body.1", "head", "(CrossEntropyLoss)"} == set(found)
    assert facts.layers.steps == 2
    assert facts.layers.roof.bytes_per_s > 0
    assert facts.layers.roof.flops_per_s["fp32"] > 0
    for name in ("body.0", "body.1", "head", "(CrossEntropyLoss)"):
        assert found[name].forward_s > 0, name
        assert found[name].backward_s > 0, name


def test_layers_appear_in_the_verdict_on_the_page_and_on_the_terminal():
    facts, _ = watched(Network())
    verdict = judge(facts)
    values = verdict.as_json()
    assert {one["name"] for one in values["layers"]["rows"]} >= {"body.0", "head"}
    assert "Layers, slowest first (2 extra steps)" in verdict_text(verdict, all_layers=True)
    assert "<h2>Layers</h2>" in report_page({**values, "command": "python train.py"})


def test_micro_batches_count_and_validations_do_not():
    facts, _ = watched(Network(), micro_batches=2, validate=True)
    found = {one.name: one for one in facts.layers.rows}
    assert found["head"].calls == 2
    assert found["head"].flops == 2 * 3 * (2 * 8 * 16 * 4)


def test_a_compiled_model_gets_a_reason_instead_of_a_table():
    model = Network()
    model.head.compile(backend="eager")
    facts, seen = watched(model)
    assert facts.phase == "done"
    assert facts.layers is None
    assert facts.layers_missing_reason.startswith("head (Linear) is compiled by torch.compile")
    assert not any(hooks for _, hooks in seen)
    text = verdict_text(judge(facts), all_layers=True)
    assert "Layers not measured: head (Linear) is compiled" in text


def test_a_script_that_ends_in_the_middle_leaves_no_hook():
    backward = torch.autograd.backward
    whole = [phase for phase, _ in watched(Network())[1]]
    facts, seen = watched(Network(), most=whole.index("layers") + 1)
    assert seen[-1][0] == facts.phase == "layers"
    assert facts.layers is None
    assert facts.layers_missing_reason == "the script ended before the layers were measured"
    assert len(HOOKS) == 0
    assert torch.autograd.backward is backward


def test_an_internal_error_is_reported_and_the_script_continues(monkeypatch):
    def fails(*words):
        raise RuntimeError("planted")

    monkeypatch.setattr("tundish.diagnosis.probe.layers.modules.Modules.entered", fails)
    facts, _ = watched(Network())
    assert facts.phase == "done"
    assert facts.layers_missing_reason == "RuntimeError: planted"
    assert not torch.utils._python_dispatch._get_current_dispatch_mode_stack()
    assert len(HOOKS) == 0


class Transformed(torch.utils.data.Dataset):
    """A dataset whose transform is a module and runs in the loop's own process."""

    def __init__(self):
        self.transform = nn.Linear(8, 8)

    def __len__(self):
        return 4000

    def __getitem__(self, number):
        return self.transform(torch.ones(8)).detach(), 0


def test_a_transform_of_the_loader_is_not_a_layer():
    with plants.watched(layers=2, cached_batches=0) as session:
        train(Network(), session, data=Transformed())
    assert {one.name for one in session.end().layers.rows} >= {"head", "body.0"}
    assert not any("Linear" in one.name for one in session.end().layers.rows)


def test_all_ranks_take_the_same_steps(monkeypatch):
    """A rank whose layers cannot be measured takes the same number of steps."""
    monkeypatch.setattr("tundish.diagnosis.probe.watch.rank_and_world", lambda: (0, 2))
    model = Network()
    plain = sum(one.phase == "layers" for one in watched(model)[0].steps)
    model.head.compile(backend="eager")
    facts, _ = watched(model)
    assert facts.layers_missing_reason.startswith("head (Linear) is compiled")
    assert sum(one.phase == "layers" for one in facts.steps) == plain == 3


def test_layers_are_not_measured_unless_requested():
    facts, seen = watched(Network(), layers=0)
    assert facts.layers is None
    assert facts.layers_missing_reason == ""
    assert "layers" not in {phase for phase, _ in seen}


def test_a_watched_loop_trains_like_a_plain_loop():
    """Random numbers and parameters are bitwise equal without cached batches."""

    def trained(watch):
        torch.manual_seed(3)
        model = nn.Sequential(
            nn.Linear(8, 16), nn.Dropout(0.5), nn.BatchNorm1d(16), nn.Linear(16, 4)
        )
        if watch:
            watched(model, most=30, cached_batches=0)
        else:
            train(model, plants.Session(plants.Settings(), None), most=count)
        return [*(one.clone() for one in model.state_dict().values()), torch.rand(1)]

    torch.manual_seed(3)
    count = len(watched(Network(), most=30, cached_batches=0)[1]) - 1
    assert all(one.equal(two) for one, two in zip(trained(True), trained(False)))
