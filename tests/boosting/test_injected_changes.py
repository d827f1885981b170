"""Changes made on a script's objects: what changes, and what stays as it is."""

import contextlib
import copy
import io
import pickle

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tundish.boosting.inject.identities import model_identity, optimizer_identity
from tundish.boosting.inject.injector import Injector
from tundish.boosting.inject.request import Change, Request
from tundish.boosting.inject.survey import Survey


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, width, 3), nn.BatchNorm2d(width)
        self.head = nn.Linear(width, 4)
        self.types = []

    def forward(self, x):
        out = self.conv(x)
        self.types.append((out.dtype, x.is_contiguous(memory_format=torch.channels_last)))
        return self.head(torch.relu(self.norm(out)).mean((2, 3)))


def batch():
    return torch.rand(4, 3, 8, 8), torch.arange(4)


def made(seed=0, kind=Net):
    torch.manual_seed(seed)
    model = kind()
    return model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)


def request(model, optimizer, *changes, **more):
    return Request(
        changes=[Change(*change.split("=")) for change in changes],
        models=[model_identity(model)],
        optimizers=[optimizer_identity(optimizer)],
        **more,
    )


@contextlib.contextmanager
def injected(wanted):
    finished = []
    injector = Injector(wanted, lambda: finished.append(True))
    injector.install()
    try:
        yield injector
    finally:
        injector.uninstall()


def train(model, optimizer, steps=3, seed=1):
    torch.manual_seed(seed)
    losses = []
    for _ in range(steps):
        x, y = batch()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def test_16_bit_precision_and_layout_reach_the_model_and_not_its_outputs():
    model, optimizer = made()
    with injected(request(model, optimizer, "bf16", "channels_last")) as injector:
        out = model(batch()[0])
    assert model.types == [(torch.bfloat16, True)]
    assert out.dtype == torch.float32
    assert injector.outcomes.made() == ["bf16", "channels_last"]
    weight = model.conv.weight
    assert weight.is_contiguous(memory_format=torch.channels_last)
    assert weight.dtype == torch.float32


def test_evaluation_runs_in_the_scripts_precision():
    model, optimizer = made()
    with injected(request(model, optimizer, "bf16")):
        model(batch()[0])
        model.eval()
        model(batch()[0])
        model.train()
        with torch.no_grad():
            model(batch()[0])
    assert [kind for kind, _ in model.types] == [torch.bfloat16, torch.float32, torch.float32]


def test_fused_steps_keep_the_scripts_checkpoint_and_results():
    plain = made()
    expected = train(*plain)
    model, optimizer = made()
    with injected(request(model, optimizer, "fused")) as injector:
        assert train(model, optimizer) == pytest.approx(expected, rel=1e-5)
        saved = optimizer.state_dict()
    assert injector.outcomes.made() == ["fused"]
    assert optimizer.param_groups[0]["fused"] is True
    assert saved["param_groups"] == plain[1].state_dict()["param_groups"]


def test_checkpoints_round_trip_between_plain_and_boosted_bit_for_bit():
    source, source_optimizer = made()
    train(source, source_optimizer)
    model, optimizer = made(seed=5)
    with injected(request(model, optimizer, "bf16", "channels_last", "fused")):
        train(model, optimizer, steps=1)
        model.load_state_dict(source.state_dict())
        optimizer.load_state_dict(copy.deepcopy(source_optimizer.state_dict()))
        file = io.BytesIO()
        torch.save((model.state_dict(), optimizer.state_dict()), file)
    file.seek(0)
    weights, states = torch.load(file)
    for name, weight in source.state_dict().items():
        assert torch.equal(weights[name], weight), name
    for number, state in source_optimizer.state_dict()["state"].items():
        saved = states["state"][number]["momentum_buffer"]
        assert torch.equal(saved, state["momentum_buffer"])
        assert saved.stride() == state["momentum_buffer"].stride()
    again, again_optimizer = made(seed=6)
    again.load_state_dict(weights)
    again_optimizer.load_state_dict(states)
    assert train(again, again_optimizer) == train(source, source_optimizer)


def test_models_stay_the_scripts_objects():
    model, optimizer = made()
    call = Net.__call__
    with injected(request(model, optimizer, "bf16", "channels_last")):
        train(model, optimizer)
        assert type(model) is Net
        average = copy.deepcopy(model)  # as of an average of weights
        restored = pickle.loads(pickle.dumps(model))
        for other in (average, restored):
            other.types.clear()
            other(batch()[0])
            assert not other.conv._forward_hooks
            assert "forward" not in vars(other)
    assert Net.__call__ is call
    assert set(vars(model)) == set(vars(Net()))


def test_a_model_with_other_weights_is_not_changed_and_is_reported():
    model, optimizer = made()
    wanted = request(model, optimizer, "bf16")
    other = Net(width=16)
    with injected(wanted) as injector:
        train(other, torch.optim.SGD(other.parameters(), 0.1), steps=25)
        assert [identity.name for identity in injector.missing()]
    assert {kind for kind, _ in other.types} == {torch.float32}


def test_the_model_of_the_next_fold_is_changed_too():
    with injected(request(*made(), "bf16")):
        for fold in range(8):  # ids of freed models are used again
            model = optimizer = None
            model, optimizer = made(seed=fold)
            train(model, optimizer)
            assert {kind for kind, _ in model.types} == {torch.bfloat16}


class Pair(nn.Sequential):
    """A model of torch's own class, whose parts have the same class."""

    def __init__(self):
        super().__init__(nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten()), nn.Linear(144, 4))


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = Pair()

    def forward(self, x):
        return self.parts(x)


@pytest.mark.parametrize("kind", [Plain, Pair])
def test_a_compiled_model_runs_one_graph_and_other_shapes_run_uncompiled(kind, monkeypatch):
    graphs = []
    compiler = torch.compile

    def counted(function, **options):
        def backend(graph, inputs):
            graphs.append(graph)
            return graph.forward

        return compiler(function, backend=backend, dynamic=options["dynamic"])

    monkeypatch.setattr(torch, "compile", counted)
    torch._dynamo.reset()
    model, optimizer = made(kind=kind)
    names = list(model.state_dict())
    with injected(request(model, optimizer, "compile")):
        train(model, optimizer)
        model(torch.rand(2, 3, 8, 8))  # the last batch of an epoch
        model.eval()
        model(batch()[0])
        assert list(model.state_dict()) == names
        assert pickle.loads(pickle.dumps(model))._compiled_call_impl is None
    assert len(graphs) == 1


def test_two_models_and_two_optimizers_train_together():
    one, one_optimizer = made()
    two, two_optimizer = made(kind=Pair)
    wanted = Request(
        [Change("bf16"), Change("fused")],
        [model_identity(one), model_identity(two)],
        [optimizer_identity(one_optimizer), optimizer_identity(two_optimizer)],
    )
    with injected(wanted) as injector:
        for _ in range(2):
            train(one, one_optimizer, steps=1)
            train(two, two_optimizer, steps=1)
        assert not injector.missing()
    assert all(o.param_groups[0]["fused"] for o in (one_optimizer, two_optimizer))


def test_a_compiler_error_falls_back_only_outside_of_trials(monkeypatch):
    def broken(function, **options):
        def call(*args, **kwargs):
            raise torch._dynamo.exc.TorchDynamoException("no compiler")

        return call

    monkeypatch.setattr(torch, "compile", broken)
    model, optimizer = made()
    with injected(request(model, optimizer, "compile")) as injector:
        train(model, optimizer)
    assert "no compiler" in injector.outcomes.left_out()["compile"]
    model, optimizer = made()
    failing = request(model, optimizer, "compile", fallback=False)
    with injected(failing), pytest.raises(torch._dynamo.exc.TorchDynamoException):
        train(model, optimizer)


def surveyed(loop):
    found = []
    survey = Survey(found.append)
    survey.install()
    try:
        loop()
    finally:
        survey.uninstall()
    return found[0]


def test_the_survey_names_models_optimizers_and_the_loader_that_feeds_them():
    model, optimizer = made()
    teacher = Net(width=4)  # called, never trained
    train_set, val_set = (
        TensorDataset(torch.rand(n, 3, 8, 8), torch.zeros(n).long()) for n in (32, 8)
    )
    loader, val_loader = DataLoader(train_set, 4, shuffle=True), DataLoader(val_set, 8)

    def loop():
        for x, y in loader:
            teacher(x)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for other, _ in val_loader:
                with torch.no_grad():
                    model(other)

    facts = surveyed(loop)
    assert [one.identity for one in facts.models] == [model_identity(model)]
    assert [one.identity for one in facts.optimizers] == [optimizer_identity(optimizer)]
    assert facts.loader is not None
    assert (facts.loader.samples, facts.loader.batch_size) == (32, 4)
    assert facts.models[0].place.file == __file__
    assert not facts.models[0].channels_last
    assert not facts.optimizers[0].fused
    assert not facts.scaler


def test_the_survey_sees_what_the_script_does_already():
    model, _ = made()
    model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, fused=True)

    def loop():
        for _ in range(3):
            x, y = batch()
            with torch.autocast("cpu", torch.bfloat16):
                loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    facts = surveyed(loop)
    assert facts.models[0].autocast
    assert facts.models[0].channels_last == "already done"
    assert facts.optimizers[0].fused == "already done"
