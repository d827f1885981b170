"""A whole tuning run on a CPU, with tricks of known effect."""

from __future__ import annotations

import os
import random
import shlex
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import tundish
from tundish.tuning import tune as tuner
from tundish.tuning.cli.tune_options import ARGUMENTS
from tundish.tuning.report.results import KEPT, REJECTED
from tundish.tuning.trials import pool

from tests.helpers.warm_python import use_warm_trials

from . import jobs, planted
from .test_trial import children

HERE = Path(__file__).parent
OWN = ["NoWait", "WrongScale", "HalfSum", "Slower"]


@pytest.fixture(scope="module")
def plan() -> Iterator[tundish.Plan]:
    """A run without torch's tricks, whose gains are noise on a busy machine.

    The planted tricks change a wait of 60 ms to 10 ms or to 150 ms.
    """
    names = [f"{HERE / 'planted.py'}:{name}" for name in OWN]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")  # spinning threads would add noise
        patch.setattr(tuner, "FIRST_STEPS", 15)
        patch.setattr(pool, "TURN_S", 0.1)
        use_warm_trials(patch)
        yield tundish.tune(
            planted.build, quick=True, select=["fused_optimizer"], custom_tricks=names
        )


def test_the_good_trick_is_kept(plan: tundish.Plan) -> None:
    assert "no_wait" in [trick.name for trick in plan.tricks]
    assert not {"wrong_scale", "half_sum", "slower"} & {trick.name for trick in plan.tricks}
    assert plan.report.gains["baseline"]["gain"] > 1.5
    kept = [row for row in plan.report.rows if row.verdict == KEPT]
    assert kept[0].tricks == [trick.as_json() for trick in plan.tricks]


@pytest.mark.parametrize("name", ["half the output", "a mean in fp16"])
def test_a_bad_trick_is_rejected_with_the_tensor(plan: tundish.Plan, name: str) -> None:
    rows = [row for row in plan.report.rows if name in row.label]
    assert rows
    assert {row.verdict for row in rows} == {REJECTED}
    assert all("x the fp32 noise" in row.numerics for row in rows)


def test_a_slow_trick_is_not_kept(plan: tundish.Plan) -> None:
    row = next(row for row in plan.report.rows if "waits longer" in row.label)
    assert row.verdict != KEPT
    assert row.gain is not None
    assert row.gain < 1


def test_the_command_is_the_whole_one(plan: tundish.Plan) -> None:
    words = shlex.split(plan.report.command)
    options = ARGUMENTS.parse(words[2:])
    assert words[:2] == ["tundish", "tune"]
    assert Path(options.job.rpartition(":")[0]).resolve() == HERE / "planted.py"
    assert options.job.endswith(":build")
    assert options.quick
    assert options.select == ["fused_optimizer"]
    assert [one.rpartition(":")[2] for one in options.custom_trick] == OWN


def test_no_files_or_processes_remain(plan: tundish.Plan) -> None:
    assert not children()


def test_the_plan_trains_the_users_objects(plan: tundish.Plan, tmp_path: Path) -> None:
    plan.save(tmp_path / "plan.json")
    with pytest.raises(
        tundish.ArgumentError,
        match=r"has a trick of your own, NoWait\n  fix: name its file.*load_plan\(.*, custom_tricks=.*--custom-trick FILE:NoWait",
    ):
        tundish.load_plan(tmp_path / "plan.json")
    loaded = tundish.load_plan(
        tmp_path / "plan.json", custom_tricks=[f"{HERE / 'planted.py'}:NoWait"]
    )
    assert loaded.tricks == plan.tricks
    assert loaded.changes() == []
    torch.manual_seed(0)
    model, optimizer, loss_fn, batch = planted.build()
    before = [p.detach().clone() for p in model.parameters()]
    step = loaded.apply(model, optimizer, loss_fn)
    losses = [float(step(batch)) for _ in range(5)]
    assert losses[-1] < losses[0]
    assert not all(torch.equal(a, b) for a, b in zip(before, model.parameters()))
    assert model.wait_s == 0.01
    loaded.undo()
    assert model.wait_s == 0.06


def test_a_plan_for_another_model_is_refused(plan: tundish.Plan) -> None:
    model, optimizer, loss_fn, _ = jobs.mlp()
    with pytest.raises(
        tundish.ArgumentError, match="this plan is for another job: the plan's model was Net"
    ):
        plan.apply(model, optimizer, loss_fn)
    assert any("optimizer" in text for text in plan.changes(model, optimizer))


def test_any_bytes_load_as_a_plan_or_raise_an_error(plan: tundish.Plan, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan.save(path)
    whole = path.read_bytes()
    draw = random.Random(5)
    refused = 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(data))
            if draw.random() < 0.5:
                data[at] = draw.randrange(256)
            else:
                del data[at : at + draw.randint(1, 200)]
        path.write_bytes(bytes(data))
        try:
            tundish.load_plan(path, custom_tricks=[f"{HERE / 'planted.py'}:NoWait"])
        except tundish.ArgumentError as error:
            refused += "is not a plan" in str(error)
    assert refused > 100
    path.write_text("[" * 100_000)
    with pytest.raises(tundish.ArgumentError, match="is not a plan"):
        tundish.load_plan(path)
    with pytest.raises(tundish.MissingError, match="no such file"):
        tundish.load_plan(tmp_path / "nowhere.json")


def test_ctrl_c_returns_the_best_plan_so_far() -> None:
    """The signal arrives once the baseline runs; the plan may be empty, and no child remains."""

    class Interrupt:
        phases, ticks = 0, 0

        def __call__(self, text: str) -> None:
            self.phases += 1
            if self.phases == 3:
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

        def tick(self) -> None:
            self.ticks += 1

    progress = Interrupt()
    plan = tundish.tune(jobs.mlp, ignore=["compile"], progress=progress)
    assert progress.ticks > 0  # the clock advances while trials are prepared
    assert not plan.report.finished
    assert "Ctrl-C" in plan.report.notes[-1]
    assert not children()


@pytest.mark.usefixtures("warm_trials")
@pytest.mark.parametrize(
    ("build", "text"),
    [
        (jobs.forward_fails, "your step fails without any trick: mat1 and mat2"),
        (
            jobs.loss_without_gradient,
            r"your step fails without any trick: element 0 of tensors.*\n  fix: the loss has no gradient",
        ),
        (
            jobs.label_out_of_range,
            r"Target \d+ is out of bounds.*\n  fix: labels must be from 0 to the number of classes",
        ),
        (jobs.build_raises, r"build_raises\(\) fails: the dataset is not there"),
        (jobs.not_finite, "your step fails without any trick: its loss is not finite"),
    ],
)
def test_a_step_that_fails_by_itself_is_reported(build: Any, text: str) -> None:
    with pytest.raises(tundish.ArgumentError, match=text) as caught:
        tundish.tune(build)
    assert "fix:" in str(caught.value)
    assert not children()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"select": ["warp"]}, "unknown trick 'warp'"),
        ({"ignore": ["warp"]}, "unknown trick 'warp'"),
        ({"custom_tricks": ["nowhere.py:A"]}, "no such file"),
        ({"custom_tricks": [f"{HERE / 'planted.py'}:Net"]}, "is not a trick"),
        ({"custom_tricks": ["planted.py"]}, "is not FILE:CLASS"),
        (
            {"custom_tricks": [f"{HERE / 'planted.py'}:HalfDone"]},
            r"has no apply\(\) or no undo\(\)",
        ),
        ({"custom_tricks": f"{HERE / 'planted.py'}:Nothing"}, "has no class Nothing"),
        ({"optimizer": 1}, "only with a model"),
    ],
)
def test_invalid_arguments_are_refused(words: dict[str, Any], text: str) -> None:
    with pytest.raises(tundish.ArgumentError, match=text):
        tundish.tune(jobs.mlp, **words)
