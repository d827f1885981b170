"""Layer checks: each finds its planted model and reports nothing for the clean twin.

Names, shapes, FLOPs and bytes come from the running model. Seconds are computed from a cost per
operation and the roof of an invented machine, because the test machine is shared.
tests/gpu/layers.py runs the same models on a GPU.
"""

from dataclasses import replace

import pytest
import torch
from tundish.diagnosis.model_layers import layers
from tundish.diagnosis.probe.layers.layer_facts import LayerFacts, LayersFacts, RoofFacts
from tundish.diagnosis.rules.layers import RULES, check_layers

from tests.helpers.layer_plants import PLANTS

ROOF = RoofFacts(2e9, {"fp32": 4e10}, 0.0)
OPERATION_S = 20e-6


def on_that_machine(facts):
    """Returns the facts with computed seconds."""
    rows, copied, rate = [], ROOF.bytes_per_s, ROOF.flops_per_s["fp32"]
    for one in facts.rows:
        roof = max(one.bytes / copied, one.flops / rate)
        seconds = OPERATION_S * one.operations + 1.25 * roof
        rows.append(replace(one, forward_s=seconds / 3, backward_s=seconds * 2 / 3))
    total = sum(one.seconds for one in rows)
    return replace(facts, rows=rows, total_s=total, roof=ROOF)


@pytest.fixture
def found(monkeypatch):
    """Returns the findings in a model, by id."""
    monkeypatch.setattr("tundish.diagnosis.probe.layers.profile.measure_roof", lambda *words: ROOF)
    monkeypatch.setattr(
        "tundish.diagnosis.model_layers.check_layers",
        lambda facts: check_layers(on_that_machine(facts)),
    )

    def found(model, batch):
        return {one["check"]: one for one in layers(model, batch, steps=1).findings}

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield found
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", PLANTS)
def test_the_planted_model_is_found(found, name):
    one = found(*PLANTS[name][0]())[name]
    assert one["text"]
    assert one["fix"]
    assert one["page"].endswith(f"#{name}")
    check = RULES[name]
    assert (one["level"], one["seconds"] is None) == (check.level, check.level == "note")


@pytest.mark.parametrize("name", PLANTS)
def test_a_clean_twin_has_no_findings(found, name):
    assert found(*PLANTS[name][1]()) == {}


def row(name="head", seconds=0.01, **more):
    values = {
        "name": name,
        "type": "Linear",
        "forward_s": seconds / 3,
        "backward_s": seconds * 2 / 3,
    }
    values |= {"flops": 10**12, "bytes": 10**9, "by_kind": {"matrix": 1}}
    more = {"types": {"bf16": 10**12}, **more}
    return LayerFacts(**values, shape_in=[64, 1001], shape_out=[64, 50257], **more)


def written(*rows, device="cuda"):
    rates = {"fp32": 5e13, "tf32": 4e14, "bf16": 8e14}
    total = sum(one.seconds for one in rows)
    return LayersFacts(device, 3, 0.0, total, "", RoofFacts(4e12, rates, 0.5), list(rows))


# Facts of a GPU watch, written by hand: only a GPU has Tensor Cores.
@pytest.mark.parametrize(
    ("name", "planted", "clean"),
    [
        ("tensor-core-type", row(types={"fp32": 10**12}, seconds=0.03), row(types={"tf32": 10**12}, seconds=0.003)),
        ("tensor-core-sizes", row(padded=0.6), row(padded=0.99)),
    ],
)  # fmt: skip
def test_tensor_core_checks_find_the_planted_layer_only_on_a_gpu(name, planted, clean):
    (one,) = check_layers(written(planted))
    assert one["check"] == name
    assert 0 < one["seconds"] < 0.03
    assert check_layers(written(clean)) == []
    assert check_layers(written(replace(planted, padded=None), device="cpu")) == []
    assert check_layers(written(planted, row("other", 3.0))) == []  # too small to report


def test_the_tensor_core_gain_is_timed_or_computed_from_the_roofs():
    (one,) = check_layers(written(row(types={"fp32": 10**12}, seconds=0.04)))
    assert one["seconds"] == pytest.approx(0.04 * (1 - (1 / 800) / (1 / 50)))
    assert "autocast" not in one["text"]
    timed = row(types={"fp32": 10**12}, seconds=0.04, in_bf16=0.3)
    (one,) = check_layers(written(timed))
    assert one["seconds"] == pytest.approx(0.04 * 0.7)
    assert "under autocast head takes 30 % of its time" in one["text"]
    slower = row("slower", types={"fp32": 10**12}, seconds=0.04, in_bf16=1.2)
    assert check_layers(written(slower)) == []
    (one,) = check_layers(written(timed, slower))
    assert one["seconds"] == pytest.approx(0.04 * 0.7)
    assert "slower" not in one["text"]
    (one,) = check_layers(written(row(padded=0.6)))
    assert one["seconds"] == pytest.approx(0.01 * 0.4)
    assert "1001 to 50257 features" in one["text"]


def test_every_check_has_a_planted_model():
    with open(__file__) as file:
        text = file.read()
    for name in RULES:
        assert name in PLANTS or f'"{name}"' in text, name
