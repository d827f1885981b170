"""The proof: equal steps pass, planted faults are rejected, bands that mean nothing are not judged."""

import contextlib
import math

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tundish.boosting.search.proof_verdict import judge_run
from tundish.boosting.search.search import RUNS
from tundish.diagnosis.probe.proof.gradient_errors import significant
from tundish.diagnosis.probe.proof.proof_facts import GradientFacts, RunFacts
from tundish.diagnosis.probe.proof.saved_state import TrainingObjects
from tundish.diagnosis.probe.session import Session
from tundish.diagnosis.probe.settings import Settings

MOST = 400  # steps: more than all phases need


def samples():
    draw = torch.Generator().manual_seed(3)
    x = torch.randn(256, 12, generator=draw)
    return TensorDataset(x, (x.sum(1) > 0).long() + (x[:, 0] > 0.5).long())


def train(seed, fault="", dropout=0.0, total_steps=0):
    """Trains with a random start, so that only the saved start makes runs equal."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(dropout), nn.Linear(32, 3))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.9)
    if total_steps:  # raises an error in a later step
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps)
    before, steps = None, 0
    while steps < MOST:
        for x, y in DataLoader(samples(), 16, shuffle=True):
            if fault == "stale":
                (x, y), before = before or (x, y), (x, y)
            if fault == "bf16":
                with torch.autocast("cpu", torch.bfloat16):
                    out = model(x).float()
            else:
                out = model(x)
            loss = nn.functional.cross_entropy(out, y)
            optimizer.zero_grad()
            (loss * 0.5 if fault == "scale" else loss).backward()
            if fault == "dropped":
                model[0].bias.grad = None
            if fault == "zeroed":
                model[0].weight.grad.zero_()
            optimizer.step()
            scheduler.step()
            steps += 1


def runs(folder, kinds, compares, loop):
    settings = Settings(warm_up=2, steps=5, profiled=0, layers=0, cached_batches=1, inspect=False)
    settings.proof, settings.proof_runs, settings.proof_s = str(folder), ",".join(kinds), 60.0
    settings.proof_compares = int(compares)
    session = Session(settings, None)
    session.begin()
    try:
        with contextlib.suppress(SystemExit):
            loop()
    finally:
        facts = session.end()
    assert not facts.proof.failed
    assert facts.phase == "done"
    return facts.proof.runs


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start")
    return folder, runs(folder, RUNS, False, lambda: train(1))


def judged(baseline, fault, lower_precision=False):
    folder, base = baseline
    (changed,) = runs(folder, ["changed"], True, lambda: train(2, fault))
    return judge_run(base, changed, lower_precision), changed


def test_equal_scripts_give_equal_losses_bit_for_bit(baseline):
    verdict, changed = judged(baseline, "")
    assert changed.losses == baseline[1][0].losses
    assert changed.gradients.cosine == pytest.approx(1, abs=1e-12)
    assert verdict.passed
    assert verdict.judged
    assert verdict.difference == 0


def test_a_schedule_of_fixed_length_outlives_the_runs(tmp_path):
    found = runs(tmp_path, RUNS, False, lambda: train(1, total_steps=25))
    assert sum(len(run.losses) for run in found) > 100


def test_nudged_runs_differ_a_little_and_random_runs_not_without_randomness(baseline):
    plain, twin, *nudged, random = baseline[1]
    assert twin.losses == plain.losses
    assert [run.kind for run in nudged] == ["nudged"] * 3
    assert all(run.losses != plain.losses for run in nudged)
    assert random.losses == plain.losses


@pytest.mark.parametrize("fault", ["scale", "dropped", "zeroed", "stale"])
@pytest.mark.parametrize("lower_precision", [False, True])
def test_a_planted_fault_is_rejected(baseline, fault, lower_precision):
    verdict, _ = judged(baseline, fault, lower_precision)
    assert not verdict.passed, verdict.sentence


def test_16_bit_precision_passes_as_such_and_not_as_a_lossless_change(baseline):
    assert judged(baseline, "bf16", lower_precision=True)[0].passed
    assert not judged(baseline, "bf16", lower_precision=False)[0].passed


def test_a_script_that_makes_another_model_fails_the_proof(baseline, tmp_path):
    def other():
        model = nn.Linear(12, 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(MOST):
            for x, y in DataLoader(samples(), 16):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()

    settings = Settings(warm_up=2, steps=5, profiled=0, layers=0, cached_batches=1, inspect=False)
    settings.proof, settings.proof_compares, settings.proof_runs = str(baseline[0]), 1, "changed"
    session = Session(settings, None)
    session.begin()
    with contextlib.suppress(SystemExit):
        other()
    facts = session.end()
    assert facts.proof.failed
    assert not facts.proof.runs


def curve(offset=0.0, noise=0.0):
    return [[2.0 * math.exp(-step / 20) + offset + noise * (-1) ** step] for step in range(30)]


def run_of(losses, kind="changed", **gradients):
    about = {"errors": {}, "norm_ratio": 1.0, "cosine": 1.0, "missing": 0, **gradients}
    return RunFacts(kind, losses, GradientFacts(**about))


BASE = [RunFacts("plain", curve()), *(run_of(curve(noise=1e-6), "nudged") for _ in range(3))]


@pytest.mark.parametrize(
    ("changed", "lower", "passes"),
    [
        (run_of(curve(1e-4)), False, True),
        (run_of(curve(1e-2)), False, False),
        (run_of(curve(1e-2)), True, True),
        (run_of(curve(0.3)), True, False),
        (run_of(curve(), norm_ratio=0.5), True, False),
        (run_of(curve(), cosine=0.9), True, False),
        (run_of(curve(), cosine=0.9995), True, True),
        (run_of(curve(), cosine=0.9995), False, False),
        (run_of(curve(), missing=1), True, False),
        (run_of(curve(), update_norm_ratio=2.0), True, False),
        (run_of([[math.inf]] * 30), True, False),
    ],
)
def test_limits_of_losses_and_gradients(changed, lower, passes):
    assert judge_run(BASE, changed, lower).passed is passes


def test_a_band_that_is_too_wide_is_not_judged():
    base = [RunFacts("plain", curve()), *(run_of(curve(0.2), "nudged") for _ in range(3))]
    verdict = judge_run(base, run_of(curve(0.1)), False)
    assert not verdict.judged
    assert verdict.sentence.startswith("not judged")


def test_other_random_numbers_widen_the_band_only_of_changes_that_draw_them():
    base = [*BASE, run_of(curve(0.02), "random")]
    changed = run_of(curve(0.02))
    assert not judge_run(base, changed, False).passed
    assert judge_run(base, changed, False, random=True).passed


def test_several_losses_of_a_step_are_compared_one_by_one():
    def two(a, b):
        return [[one[0], other[0]] for one, other in zip(curve(a), curve(b))]

    base = [RunFacts("plain", two(0, 1)), *(run_of(two(0, 1), "nudged") for _ in range(3))]
    assert judge_run(base, run_of(two(0, 1)), False).passed
    assert not judge_run(base, run_of(two(0.1, 0.9)), False).passed  # the sum is the same


def test_gradients_that_are_only_rounding_do_not_count_in_updates():
    gradients = {"weight": torch.ones(100), "bias": torch.full((4,), 1e-8), "frozen": None}
    assert significant(gradients) == ["weight"]
    assert significant({"weight": torch.ones(4), "small": torch.full((4,), 1e-3)}) == [
        "weight",
        "small",
    ]
    assert not significant({"weight": torch.zeros(3)})


def test_a_part_of_a_model_is_not_a_model_of_its_own():
    """Evaluation of a compiled model calls its parts."""
    model, other = nn.Sequential(nn.Linear(2, 2)), nn.Linear(2, 2)
    optimizer = torch.optim.SGD([*model.parameters(), *other.parameters()], 0.1)
    objects = TrainingObjects()
    objects.optimizer_stepped(optimizer)
    assert objects.trained([model[0], model, other, nn.Linear(2, 2)]) == [model, other]


@pytest.mark.parametrize("closure", [False, True])
def test_gradients_of_a_step_with_a_closure_are_recorded(tmp_path, closure):
    def loop(scale):
        torch.manual_seed(1)
        model = nn.Linear(12, 3)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        for _ in range(MOST):
            for x, y in DataLoader(samples(), 16):

                def loss(x=x, y=y):
                    optimizer.zero_grad()
                    value = nn.functional.cross_entropy(model(x), y) * scale
                    value.backward()
                    return value

                optimizer.step(loss) if closure else (loss(), optimizer.step())

    runs(tmp_path, ["plain"], False, lambda: loop(1.0))
    (changed,) = runs(tmp_path, ["changed"], True, lambda: loop(0.5))
    assert changed.gradients.norm_ratio == pytest.approx(0.5)
    assert not changed.gradients.missing
