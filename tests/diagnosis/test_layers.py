"""Layers are measured under adverse conditions, and the model is left unchanged."""

import dataclasses
import time

import pytest
import torch
import tundish
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode
from tundish.diagnosis.layers.layer_json import layers_json
from tundish.diagnosis.model_layers import layers as measured
from tundish.diagnosis.probe.layers.layer_facts import RoofFacts

from tests.helpers.layer_plants import Attention, Block, Branches, images

ROOF = RoofFacts(1e10, {"fp32": 1e11}, 0.0)
SLEEP_S = 0.02


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("tundish.diagnosis.probe.layers.profile.measure_roof", lambda *words: ROOF)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def rows_of(model, batch, **more):
    return {one["name"]: one for one in measured(model, batch, steps=1, **more).rows}


class Everything(nn.Module):
    """Has repeated, shared, in-place and temporary modules, and outputs that are not tensors."""

    def __init__(self):
        super().__init__()
        self.repeated, self.first, self.relu = (
            nn.Linear(8, 8),
            nn.Linear(8, 8),
            nn.ReLU(inplace=True),
        )
        self.second, self.norm, self.words = self.first, nn.BatchNorm1d(8), Words()
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        for _ in range(3):
            x = self.repeated(x)
        x = self.relu(self.norm(self.second(self.first(x))))
        out = self.words(nn.Identity()(x))
        return Output("text", [None, {"y": self.dropout(out["y"])}])


class Words(nn.Module):
    def forward(self, x):
        return {"y": x * 2, "count": 3, "none": None, "text": "words"}


@dataclasses.dataclass
class Output:
    text: str
    parts: list


class Slow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        time.sleep(SLEEP_S)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(2 * SLEEP_S)
        return gradient


class Sleeper(nn.Module):
    def forward(self, x):
        return Slow.apply(x)


class Checkpointed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.inside, self.reentrant = (
            nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)),
            reentrant,
        )

    def forward(self, x):
        if self.reentrant is None:
            return self.inside(x)
        return checkpoint(self.inside, x, use_reentrant=self.reentrant)


def hooks_of_torch():
    module = torch.nn.modules.module
    return [
        *(len(module._global_forward_hooks), len(module._global_forward_pre_hooks)),
        *(len(module._global_forward_hooks_always_called), torch.autograd.backward),
    ]


def test_every_module_has_a_row_and_calls_are_counted():
    found = rows_of(Everything(), torch.ones(4, 8))
    assert set(found) == {"(Everything)", "repeated", "first", "relu", "norm", "words", "dropout"}
    assert {name: one["calls"] for name, one in found.items() if one["calls"] != 1} == {
        "repeated": 3,
        "first": 2,
    }
    product = 2 * 4 * 8 * 8
    assert found["first"]["flops"] == 2 * 3 * product
    assert found["repeated"]["flops"] == (3 * 3 - 1) * product  # the batch needs no gradient
    assert all(one["forward_s"] > 0 for one in found.values())
    assert all(
        found[name]["backward_s"] > 0 for name in ("repeated", "first", "relu", "norm", "words")
    )
    assert [found[name]["kind"] for name in ("first", "relu", "norm")] == [
        "matrix",
        "elementwise",
        "norm",
    ]


def test_the_model_and_torch_are_left_as_they_were():
    model, batch = Everything(), torch.ones(4, 8)
    sum(one.sum() for one in model.parameters()).backward()
    gradients = [one.grad for one in model.parameters()]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    values = [one.clone() for one in gradients]
    hooks = hooks_of_torch()
    torch.manual_seed(5)
    measured(model, batch, steps=2)
    drawn = torch.rand(3)
    torch.manual_seed(5)
    assert drawn.equal(torch.rand(3))
    assert hooks_of_torch() == hooks
    assert all(one.grad is two for one, two in zip(model.parameters(), gradients))
    assert all(one.equal(two) for one, two in zip(gradients, values))
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())
    assert all(not one._forward_hooks and not one._forward_pre_hooks for one in model.modules())


def test_a_model_that_raises_leaves_no_hook():
    class Raises(nn.Module):
        calls = 0

        def forward(self, x):
            self.calls += 1
            if self.calls == 4:
                raise KeyError("the user's own")
            return x * 2

    hooks = hooks_of_torch()
    with pytest.raises(KeyError, match="the user's own"):
        measured(nn.Sequential(nn.Linear(8, 8), Raises()), torch.ones(2, 8), steps=3)
    assert hooks_of_torch() == hooks
    assert not torch.utils._python_dispatch._get_current_dispatch_mode_stack()


@pytest.mark.parametrize(
    ("model", "batch"),
    [
        (nn.Sequential(nn.Conv2d(4, 6, 3, stride=2), nn.ConvTranspose2d(6, 5, 2, stride=2), nn.Flatten(), nn.LazyLinear(3)), images(4, 9)),
        (nn.Sequential(Attention(8, fused=False)), images(8, 4)),
        (nn.GRUCell(8, 5), torch.ones(2, 8)),
        (Branches(3), images(4, 5)),
    ],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
def test_flops_equal_torchs_counter(model, batch):
    """The reference is torch's own counter around a whole step."""
    model(batch)
    with FlopCounterMode(display=False) as counter:
        out = model(batch)
        (out if isinstance(out, torch.Tensor) else out[0]).sum().backward()
    assert sum(one["flops"] for one in rows_of(model, batch).values()) == counter.get_total_flops()


def test_grouped_convolutions_count_flops_per_group():
    """torch's counter ignores groups in backward."""
    batch = images(8, 6).requires_grad_()
    found = rows_of(nn.Sequential(nn.Conv2d(8, 12, 3, groups=4)), batch)["0"]
    assert found["flops"] == 3 * 2 * 2 * (4 * 4 * 12) * (2 * 9)


def test_flops_of_unsupported_layers_are_reported_as_unknown():
    found = measured(nn.LSTM(8, 5), torch.ones(5, 2, 8), steps=1)
    assert [one["flops"] for one in found.rows] == [None]
    assert " ? " in str(found)


def test_the_precision_is_the_one_that_layers_compute_in():
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    assert rows_of(model, torch.ones(2, 8))["0"]["precision"] == "fp32"
    with torch.autocast("cpu", torch.bfloat16):
        found = rows_of(model, torch.ones(2, 8))
    assert (found["0"]["precision"], found["1"]["precision"]) == ("bf16", "")


def test_attention_that_a_cpu_fuses_is_counted():
    found = rows_of(nn.Sequential(Attention(8)), images(8, 4, batch=3))["0"]
    assert found["flops"] == 3 * (2 + 5) * 2 * 16 * 16 * 8  # two products forward, five backward


def test_bytes_of_layers_are_their_tensors():
    found = rows_of(nn.Sequential(nn.Linear(8, 4, bias=False), nn.Tanh()), torch.ones(16, 8))
    x, w, y = 16 * 8, 8 * 4, 16 * 4
    # Forward reads x, w and writes y; backward computes the gradient of w only, transposed without
    # a copy.
    assert found["0"]["bytes"] == 4 * ((x + w + y) + (y + x + w))
    # The last gradient is expanded from one element.
    assert found["1"]["bytes"] == 4 * ((y + y) + (1 + y + y))
    assert found["0"]["intensity"] == pytest.approx(found["0"]["flops"] / found["0"]["bytes"])


def test_time_belongs_to_the_module_that_takes_it():
    model = nn.Sequential(nn.Linear(4, 4), Sleeper(), nn.Linear(4, 4))
    found = rows_of(model, torch.ones(2, 4))
    assert found["1"]["forward_s"] >= SLEEP_S
    assert found["1"]["backward_s"] >= 2 * SLEEP_S
    assert max(found, key=lambda name: found[name]["share"]) == "1"


@pytest.mark.parametrize("reentrant", [False, True])
def test_recomputation_of_a_checkpoint_counts_for_its_modules(reentrant):
    batch = torch.ones(4, 8, requires_grad=True)
    plain = rows_of(Checkpointed(None), batch)
    found = rows_of(Checkpointed(reentrant), batch)
    forward = 2 * 4 * 8 * 8
    for name in ("inside.0", "inside.2"):
        again = found[name]["flops"] - plain[name]["flops"]
        assert again == forward or (
            name == "inside.2" and not reentrant and again == 0
        )  # recomputation stops early
        assert found[name]["backward_s"] > 0
    assert found["inside.0"]["calls"] == 1


def test_a_distributed_model_has_the_names_of_the_users(tmp_path):
    torch.distributed.init_process_group("gloo", f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        model = nn.parallel.DistributedDataParallel(
            nn.Sequential(nn.Linear(8, 8), nn.ReLU(inplace=True))
        )
        found = rows_of(model, torch.ones(4, 8))
        del model
    finally:
        torch.distributed.destroy_process_group()
    assert set(found) == {"(DistributedDataParallel)", "(Sequential)", "0", "1"}
    assert found["0"]["backward_s"] > 0


def compiled():
    return torch.compile(nn.Linear(8, 8), backend="eager")


def with_a_compiled_part():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    model[1].compile(backend="eager")
    return model


@pytest.mark.filterwarnings("ignore")
def scripted():
    return torch.jit.script(nn.Linear(8, 8))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (compiled, "the model is compiled by torch.compile"),
        (with_a_compiled_part, r"1 \(Linear\) is compiled"),
        (scripted, "the model is TorchScript"),
    ],
)
def test_models_without_layer_calls_get_a_reason(make, words):
    hooks = hooks_of_torch()
    with pytest.raises(ValueError, match=words):
        measured(make(), torch.ones(2, 8))
    assert hooks_of_torch() == hooks


def test_branches_tokens_and_layouts_are_recorded(monkeypatch):
    kept = []
    monkeypatch.setattr(
        "tundish.diagnosis.model_layers.layers_json",
        lambda facts: kept.append(facts) or layers_json(facts),
    )
    block = Block(16, "attention", "conv")
    parts = (nn.Conv2d(4, 16, 3, padding=1), block, nn.Conv2d(16, 4, 1), Branches(4))
    measured(nn.Sequential(*parts), images(4, 6), steps=1)
    found = {one.name: one for one in kept[0].rows}
    assert found["3"].branches == [f"3.parts.{n}" for n in range(4)]
    assert found["1.attention"].tokens == 36
    assert found["1.attention"].products == ["attention"]
    assert (found["0"].layout_in, found["0"].conv.kernel_size) == ("NCHW", [3, 3])


def test_invalid_arguments_are_refused():
    with pytest.raises(ValueError, match=r"needs a torch.nn.Module, not int"):
        measured(3, 4)
    with pytest.raises(ValueError, match="at least one step"):
        measured(nn.Linear(8, 8), torch.ones(2, 8), steps=0)
    with pytest.raises(ValueError, match="requires a gradient"):
        measured(nn.Linear(8, 8).requires_grad_(False), torch.ones(2, 8))
    with pytest.raises(ValueError, match="a scalar tensor"):
        measured(nn.Linear(8, 8), torch.ones(2, 8), loss_fn=lambda out: out)


def test_a_table_is_printed_and_saved(tmp_path):
    found = tundish.layers(nn.Linear(8, 8), {"input": torch.ones(2, 8)}, steps=1)
    assert "Layers, slowest first (1 extra step)" in str(found)
    assert "roof, measured: copies 10 GB/s, products fp32 100 GFLOP/s" in str(found)
    found.save(tmp_path / "a.json")
    found.save(tmp_path / "a.html")
    assert "<svg" in (tmp_path / "a.html").read_text()
    assert '"of_roof"' in (tmp_path / "a.json").read_text()
    with pytest.raises(ValueError, match="HTML or JSON"):
        found.save(tmp_path / "a.txt")
