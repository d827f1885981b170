"""Loops of Lightning, Accelerate and Hugging Face's Trainer: survey, switches, proof, checkpoints."""

import contextlib
import runpy
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tundish.boosting.inject.injector import Injector
from tundish.boosting.inject.loader_changes import LoaderChanges
from tundish.boosting.inject.request import Change, Request
from tundish.boosting.inject.survey import Survey
from tundish.boosting.search.candidates import _obstacles
from tundish.boosting.search.proof_verdict import judge_run
from tundish.diagnosis.probe.session import Session
from tundish.diagnosis.probe.settings import Settings

SCRIPTS = Path(__file__).parent / "scripts"
LIGHTNING, ACCELERATE, HUGGING_FACE = "lightning", "accelerate", "huggingface"
ALL = (LIGHTNING, ACCELERATE, HUGGING_FACE)
PACKAGES = {LIGHTNING: "lightning", ACCELERATE: "accelerate", HUGGING_FACE: "transformers"}
MODELS = {LIGHTNING: "Classifier", ACCELERATE: "Net", HUGGING_FACE: "BertForSequenceClassification"}
SWITCHES = {
    LIGHTNING: 'Trainer(precision="bf16-mixed")',
    ACCELERATE: 'Accelerator(mixed_precision="bf16")',
    HUGGING_FACE: "TrainingArguments(bf16=True)",
}
BFLOAT16, FLOAT32 = {"torch.bfloat16"}, {"torch.float32"}


def run(name, folder, *options, steps=4):
    """Runs a script in this process and returns its variables."""
    if name == ACCELERATE:
        from accelerate.state import AcceleratorState

        AcceleratorState._reset_state(True)  # as in a process of its own
    file = SCRIPTS / f"{name}_train.py"
    before, sys.argv = sys.argv, [str(file), "--steps", str(steps), "--folder", str(folder)]
    sys.argv += map(str, options)
    try:
        with warnings.catch_warnings():  # the frameworks warn of their own deprecated calls
            warnings.simplefilter("ignore")
            return runpy.run_path(str(file), run_name="__main__")
    finally:
        sys.argv = before


def module_of(name, made):
    return made["net"] if name == ACCELERATE else made["model"]


def layer_types(name, made):
    """Returns the types of a layer's outputs in training and in validation."""
    types = made["types"] if name == HUGGING_FACE else module_of(name, made).types
    return types[True], types[False]


@contextlib.contextmanager
def surveying():
    """Yields a list that receives the facts."""
    found = []
    survey = Survey(found.append)
    survey.install()
    try:
        yield found
    finally:
        survey.uninstall()


def surveyed(name, folder, *options):
    with surveying() as found:
        run(name, folder, *options, steps=8)
    return found[0]


@pytest.fixture(scope="module")
def surveys(tmp_path_factory):
    return {name: surveyed(name, tmp_path_factory.mktemp(name)) for name in ALL}


def request(survey, *changes):
    return Request(
        changes=[Change(name) for name in changes],
        models=[model.identity for model in survey.models],
        optimizers=[optimizer.identity for optimizer in survey.optimizers],
        fallback=False,
    )


@contextlib.contextmanager
def injected(wanted):
    injector = Injector(wanted, lambda: None)
    injector.install()
    try:
        yield injector
    finally:
        injector.uninstall()


@pytest.mark.parametrize("name", ALL)
def test_the_survey_finds_framework_model_and_training_loader(surveys, name):
    found = surveys[name]
    assert found.framework == PACKAGES[name]
    assert [model.identity.name.rpartition(".")[2] for model in found.models] == [MODELS[name]]
    assert [one.identity.name for one in found.optimizers] == ["torch.optim.adamw.AdamW"]
    assert (found.loader.samples, found.loader.batch_size) == (96, 8)
    assert found.loader_place.file == str(SCRIPTS / f"{name}_train.py")
    assert "bf16" not in found.choices


@pytest.mark.parametrize("name", ALL)
def test_bf16_is_made_by_the_frameworks_switch(surveys, name, tmp_path):
    with injected(request(surveys[name], "bf16")) as injector:
        made = run(name, tmp_path, steps=24)
    assert injector.outcomes.made() == ["bf16"]
    assert injector.outcomes.ways == {"bf16": SWITCHES[name]}
    # The frameworks validate in the precision of training.
    assert layer_types(name, made) == (BFLOAT16, BFLOAT16)


def test_both_packages_of_lightning_have_the_switch(surveys, tmp_path):
    with injected(request(surveys[LIGHTNING], "bf16")) as injector:
        made = run(LIGHTNING, tmp_path, "--package", "pytorch_lightning", "--accumulate", 2)
    assert made["trainer"].precision == "bf16-mixed"
    assert injector.outcomes.ways == {"bf16": SWITCHES[LIGHTNING]}


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        (LIGHTNING, ["--precision", "bf16-mixed"], f"already done: {SWITCHES[LIGHTNING]}"),
        (
            LIGHTNING,
            ["--precision", "32-true"],
            'the script has chosen Trainer(precision="32-true")',
        ),
        (ACCELERATE, ["--precision", "bf16"], f"already done: {SWITCHES[ACCELERATE]}"),
        (
            ACCELERATE,
            ["--precision", "no"],
            'the script has chosen Accelerator(mixed_precision="no")',
        ),
        (HUGGING_FACE, ["--bf16"], f"already done: {SWITCHES[HUGGING_FACE]}"),
    ],
)
def test_a_value_that_the_script_has_chosen_is_left_alone(name, options, reason, tmp_path):
    survey = surveyed(name, tmp_path / "survey", *options)
    assert survey.choices["bf16"].reason == reason
    assert survey.choices["bf16"].file == str(SCRIPTS / f"{name}_train.py")
    assert _obstacles({**survey.as_json(), "bf16": True}, False)["bf16"] == reason
    with injected(request(survey, "bf16")) as injector:
        run(name, tmp_path, *options)
    assert not injector.outcomes.ways


def test_hugging_faces_default_optimizer_is_fused_already(surveys):
    assert "adamw_torch_fused" in surveys[HUGGING_FACE].choices["fused"].reason
    assert surveys[HUGGING_FACE].optimizers[0].fused == "already done"


@pytest.mark.parametrize("name", [LIGHTNING, ACCELERATE])
def test_changes_without_a_switch_are_injected(surveys, name, tmp_path):
    with injected(request(surveys[name], "channels_last", "fused")) as injector:
        made = run(name, tmp_path, steps=24)
    assert injector.outcomes.made() == ["channels_last", "fused"]
    assert not injector.outcomes.ways
    weights = [p for p in module_of(name, made).parameters() if p.dim() == 4]
    assert all(w.is_contiguous(memory_format=torch.channels_last) for w in weights)
    optimizer = made["optimizer"] if name == ACCELERATE else made["trainer"].optimizers[0]
    assert all(group["fused"] for group in optimizer.param_groups)
    assert layer_types(name, made) == (FLOAT32, FLOAT32)


# --- the proof -----------------------------------------------------------------------------------


def runs(folder, name, kinds, wanted=None):
    """Runs a script with a probe, and returns the runs of its proof. `wanted`: compares changes."""
    settings = Settings(warm_up=2, steps=4, profiled=0, layers=0, cached_batches=1, inspect=False)
    settings.proof, settings.proof_runs, settings.proof_s = str(folder), ",".join(kinds), 60.0
    settings.proof_compares = int(wanted is not None)
    session = Session(settings, None)
    session.begin()
    try:
        with contextlib.suppress(SystemExit), injected(wanted or Request()):
            run(name, folder, "--accumulate", 2, steps=600)
    finally:
        facts = session.end()
    assert not facts.proof.failed
    assert facts.phase == "done"
    return facts.proof.runs


@pytest.mark.parametrize("name", ALL)
def test_equal_runs_are_equal_and_a_changed_run_is_compared(surveys, name, tmp_path):
    base = runs(tmp_path, name, ["plain", "plain", "plain", "nudged"])
    # Epochs end, validation runs and checkpoints are written at other steps of each run.
    assert base[0].losses == base[1].losses == base[2].losses
    assert {len(step) for step in base[0].losses} == {2}  # the batches of a step
    (changed,) = runs(tmp_path, name, ["changed"], request(surveys[name], "bf16"))
    assert base[3].gradients.cosine > 0.9999  # the same batches
    assert 0.99 < changed.gradients.cosine < 0.999999  # gradients were recorded
    assert judge_run(base, changed, lower_precision=True).passed


# --- checkpoints ---------------------------------------------------------------------------------

CHECKPOINTS = {
    LIGHTNING: "checkpoints/last.ckpt",
    ACCELERATE: "state",
    HUGGING_FACE: "checkpoint-20",
}


@pytest.mark.parametrize("name", ALL)
def test_checkpoints_load_in_the_plain_script_and_in_the_boosted_one(surveys, name, tmp_path):
    """A step of the other script from a checkpoint gives weights close to a step of its own script."""
    lossless = ["channels_last", "fused"] if name != HUGGING_FACE else []
    run(name, tmp_path / "plain", steps=20)
    with injected(request(surveys[name], "bf16", *lossless)):
        run(name, tmp_path / "boosted", steps=20)
    wanted = request(surveys[name], *(lossless or ["bf16"]))
    limit = 1e-5 if lossless else 4e-3  # two steps with a learning rate of 1e-3
    for kind in ("plain", "boosted"):
        saved = tmp_path / kind / CHECKPOINTS[name]
        # Accelerate's state has no count of steps.
        steps = 2 if name == ACCELERATE else 22
        plain = run(name, tmp_path / "again", "--resume", saved, steps=steps)
        with injected(wanted) as injector:
            boosted = run(name, tmp_path / "again", "--resume", saved, steps=steps)
        assert not injector.missing()
        one, other = (dict(module_of(name, made).named_parameters()) for made in (plain, boosted))
        for key in {*one, *other} - {"net.0.bias", "first.bias"}:  # before a BatchNorm: rounding
            assert torch.allclose(one[key], other[key], atol=limit), key


# --- the loader ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_the_training_loader_is_changed_in_every_epoch_and_validation_never(
    name, tmp_path, monkeypatch
):
    as_many = ("--validate", 96)  # samples as in training
    with surveying() as surveys:
        run(name, tmp_path, *as_many, steps=8)
    found = []  # whether each loader that was iterated is changed
    decide = LoaderChanges._trains

    def recorded(changes, loader, frame):
        found.append(decide(changes, loader, frame))
        return found[-1]

    monkeypatch.setattr(LoaderChanges, "_trains", recorded)
    wanted = request(surveys[0], "pin_memory")
    with injected(replace(wanted, loader=surveys[0].loader)):
        run(name, tmp_path, *as_many, steps=40)
    assert found.count(True) == 4  # epochs
    assert found.count(False) >= 2
