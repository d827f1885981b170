"""`tundish tune` and its sub-verbs with a fake search: options, output, files, exit codes."""

import json
import re
import signal
import subprocess
import sys
from dataclasses import fields
from types import SimpleNamespace

import pytest
from tundish import ArgumentError, __main__
from tundish.tuning.cli import batch_size_verb as batch_size_cli
from tundish.tuning.cli import remeasure_verb as remeasure_cli
from tundish.tuning.cli import tune_verb as cli
from tundish.tuning.cli import verb_run as cli_run
from tundish.tuning.cli.tune_options import ARGUMENTS
from tundish.tuning.plan import load_plan
from tundish.tuning.report.results import Row, TuneReport, report_from_json
from tundish.tuning.search.batch_size import BatchPoint, BatchReport
from tundish.tuning.tricks import TRICKS

from tests.helpers import tuning_reports as examples


@pytest.fixture
def search(monkeypatch, tmp_path):
    """Fakes tune() and measure_plan() and records their arguments; `act` sets their behavior."""
    fake = SimpleNamespace(asked=None, act=lambda: examples.plan_of(examples.image_model()))

    def tune(job, **words):
        fake.asked = (job, words)
        words["progress"]("baseline")
        return fake.act()

    def measure_plan(job, plan, **words):
        fake.asked = (job, {"plan": plan, **words})
        return fake.act()

    def find_batch_size(job, **words):
        fake.asked = (job, words)
        words["progress"]("8 samples")
        return fake.act()

    fake.tune, fake.measure_plan = tune, measure_plan
    fake.find_batch_size = find_batch_size
    monkeypatch.setitem(sys.modules, "tundish.tuning.tune", fake)
    monkeypatch.setitem(sys.modules, "tundish.tuning.search.batch_size", fake)
    monkeypatch.chdir(tmp_path)
    return fake


def tune(*words):
    return cli.main(list(words))


def test_a_run_prints_the_table_and_saves_the_plan(search, tmp_path, capsys):
    assert tune("train.py:build") == 0
    out, err = capsys.readouterr()
    assert "torch.compile" in out
    assert out.splitlines()[-1].endswith("loss = step(batch)")
    assert "baseline" in err
    assert "\x1b" not in out + err
    plan = load_plan(tmp_path / "plan.json")
    assert [trick.name for trick in plan.tricks] == [
        "channels_last",
        "fused_optimizer",
        "bf16",
        "compile",
    ]
    assert plan.report.command == "tundish tune train.py:build"


def test_every_option_reaches_the_search(search):
    words = "--quick --minutes 1.5 --seed 7 --select bf16,compile --ignore fp16 --memory 12GiB -q"
    assert tune("a.py:make", *words.split(), "-o", "x.json") == 0
    job, asked = search.asked
    asked.pop("progress")  # the fake called it
    assert job == "a.py:make"
    assert asked == {
        "seed": 7,
        "quick": True,
        "minutes": 1.5,
        "select": ["bf16", "compile"],
        "ignore": ["fp16"],
        "custom_tricks": [],
        "memory": 12 * 2**30,
    }


def test_json_is_the_report_and_nothing_else_is_on_stdout(search, capsys):
    report = examples.image_model()
    report.rows[0].host_ms = float("nan")  # NaN is not valid JSON
    search.act = lambda: examples.plan_of(report)
    assert tune("train.py:build", "--json") == 0
    out, err = capsys.readouterr()
    values = json.loads(out, parse_constant=pytest.fail)
    assert report_from_json(values).gains == report.gains
    assert values["rows"][0]["host_ms"] is None
    assert "baseline" in err


def test_quiet_prints_nothing(search, capsys, tmp_path):
    assert tune("train.py:build", "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "plan.json").exists()


def test_ctrl_c_saves_the_best_plan_so_far(search, tmp_path, capsys):
    def interrupted():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            return examples.plan_of(examples.interrupted())

    before = signal.getsignal(signal.SIGINT)
    search.act = interrupted
    assert tune("train.py:build") == 130
    assert not load_plan(tmp_path / "plan.json").report.finished
    assert "ended early" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_before_the_first_plan_saves_nothing(search, tmp_path, capsys):
    search.act = lambda: signal.raise_signal(signal.SIGINT)
    assert tune("train.py:build") == 130
    assert "interrupted before there was a plan" in capsys.readouterr().err
    assert not (tmp_path / "plan.json").exists()


@pytest.mark.parametrize(
    ("words", "limit"),
    [([], "6:00"), (["--quick"], "2:00"), (["--quick", "--minutes", "4"], "4:00")],
)
def test_the_progress_shows_the_limit(search, capsys, words, limit):
    assert tune("train.py:build", *words) == 0
    assert f"baseline   0.0 s of about {limit}\n" in capsys.readouterr().err


def test_a_time_limit_is_no_failure(search):
    search.act = lambda: examples.plan_of(examples.interrupted())
    assert tune("train.py:build", "--minutes", "1", "-q") == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "FILE:FUNCTION is missing"),
        (["a.py:b", "--quik"], "did you mean --quick?"),
        (["a.py:b", "c.py:d"], "unknown argument 'c.py:d'"),
        (["a.py:b", "--minutes", "0"], "'0' is not a number above 0"),
        (["a.py:b", "--minutes", "nan"], "'nan' is not a number above 0"),
        (["a.py:b", "--memory", "much"], "'much' is not a size such as 40GiB"),
        (["a.py:b", "--memory", "40"], "'40' is 40 bytes; give a unit, such as 40GiB"),
        (["batch-size", "a.py:b", "--memory", "0GiB"], "'0GiB' is not a size such as 40GiB"),
        (["a.py:b", "--seed", "x"], "--seed"),
        (["a.py:b", "--select", ","], "names no trick"),
        (["a.py:b", "--select", "bf61"], "unknown trick 'bf61'; did you mean bf16?"),
        (["a.py:b", "--ignore", "x"], "fix: use one of strict_fp32, torch_defaults"),
        (["a.py:b", "--select", "tf32", "--ignore", "tf32"], "in --select and in --ignore"),
        (["a.py:b", "--slower-than", "3"], "unknown option '--slower-than'"),
        (["a.py:b", "-o", "no/where.json"], "there is no folder"),
        (["a.py:b", "--tricks", "bf16"], "tundish: --tricks is now --select\n"),
        (["a.py:b", "--without=bf16"], "tundish: --without is now --ignore\n"),
        (
            ["a.py:b", "--check", "p.json"],
            "tundish: --check is now tundish tune remeasure PLAN FILE:FUNCTION\n",
        ),
        (
            ["a.py:b", "--batch-size", "--memory", "4GiB"],
            "tundish: --batch-size is now tundish tune batch-size FILE:FUNCTION\n",
        ),
        (["remeasur", "p.json", "a.py:b"], "unknown argument 'remeasur'; did you mean remeasure?"),
        (["remeasure"], "PLAN is missing"),
        (["remeasure", "p.json"], "fix: tundish tune remeasure train.py:build"),
        (["remeasure", "p.json", "a.py:b"], "p.json: no such file"),
        (["remeasure", "p.json", "a.py:b", "--slower-than", "-1"], "'-1' is not a percentage"),
        (["remeasure", "p.json", "a.py:b", "-o", "q.json"], "unknown option '-o'"),
        (["batch-size"], "FILE:FUNCTION is missing"),
        (["batch-size", "a.py:b", "-o", "x"], "unknown option '-o'"),
        (["batch-size", "a.py:b", "--quick"], "unknown option '--quick'"),
        (["batch-size", "a.py:b", "--select", "bf61"], "did you mean bf16?"),
        (["batch-size", "a.py:b", "--tricks", "bf16"], "tundish: --tricks is now --select\n"),
    ],
)
def test_invalid_arguments_are_explained_and_nothing_is_tried(search, capsys, words, said):
    assert tune(*words) == 2
    assert said in capsys.readouterr().err
    assert search.asked is None


def test_a_job_that_does_not_train_is_a_usage_error(search, capsys):
    def refuse():
        raise ArgumentError("train.py:build() returned a dict\n  fix: end it with: return model")

    search.act = refuse
    assert tune("train.py:build", "--json") == 2
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert error["exit"] == 2
    assert error["message"] in err


def test_a_failing_trial_is_a_failure(search, capsys):
    def fail():
        raise RuntimeError("the baseline ran out of memory")

    search.act = fail
    assert tune("train.py:build") == 1
    assert "tundish: the baseline ran out of memory" in capsys.readouterr().err


def test_a_file_that_exists_is_replaced_with_force_only(search, tmp_path, capsys):
    (tmp_path / "plan.json").write_text('{"mine": 1}')
    assert tune("train.py:build") == 2
    assert "--output plan.json: exists already\n  fix: use another" in capsys.readouterr().err
    assert tune("train.py:build", "-o", "new.json", "--html", "plan.json") == 2
    assert "--html plan.json: exists already" in capsys.readouterr().err
    assert (tmp_path / "plan.json").read_text() == '{"mine": 1}'
    assert search.asked is None
    assert tune("train.py:build", "-q", "-o", "other.json") == 0
    assert tune("train.py:build", "-q", "-o", "other.json") == 2
    assert tune("train.py:build", "-q", "-o", "other.json", "-f") == 0
    assert tune("train.py:build", "-q", "--force") == 0
    assert load_plan(tmp_path / "plan.json").tricks


def measured(scale, device="NVIDIA H200", gain=4.6):
    report = examples.image_model()
    report.device = device
    for row in report.rows:
        row.gain = gain if row.phase == "confirm" and row.tricks else row.gain
        row.step_ms = row.step_ms and row.step_ms * scale
    return report


@pytest.mark.parametrize(
    ("scale", "words", "code"),
    [
        (1.029, [], 0),
        (1.04, [], 1),
        (1.04, ["--slower-than", "5"], 0),
        (1.01, ["--slower-than", "0.5%"], 1),
        (0.5, ["--slower-than", "0"], 0),
    ],
)
def test_remeasure_compares_with_the_saved_plan(search, capsys, scale, words, code):
    examples.plan_of(examples.image_model()).save("plan.json")
    search.act = lambda: measured(scale)
    assert tune("remeasure", "plan.json", "train.py:build", *words) == code
    out, err = capsys.readouterr()
    assert ("slower than the saved plan" in err) == (code == 1)
    assert f"{33.1 * scale:.1f} ms a step, 33.1 ms when the plan was saved" in out
    assert "since the plan was saved: measured with torch 2.11" in err
    job, asked = search.asked
    assert job == "train.py:build"
    assert len(asked["plan"].tricks) == 4


def test_remeasure_on_another_device_compares_gains(search, capsys):
    examples.plan_of(examples.image_model()).save("plan.json")
    search.act = lambda: measured(9.0, "NVIDIA L4", gain=4.59)
    assert tune("remeasure", "plan.json", "train.py:build") == 0
    search.act = lambda: measured(0.5, "NVIDIA L4", gain=4.0)
    assert tune("remeasure", "plan.json", "train.py:build") == 1
    assert "15.0 % slower than the saved plan" in capsys.readouterr().err


def test_remeasure_reports_a_limit_below_the_noise(search, capsys):
    examples.plan_of(examples.image_model()).save("plan.json")
    now = measured(1.04)
    now.twin["spread"] = 0.05
    search.act = lambda: now
    assert tune("remeasure", "plan.json", "train.py:build", "--json") == 1
    values = json.loads(capsys.readouterr().out)
    assert values["ok"] is False
    assert values["slower_percent"] == 4.0
    assert "identical steps varied by 5.0 % here, more than the limit" in values["text"]


def test_remeasure_measures_a_plan_that_no_longer_wins(search, capsys):
    examples.plan_of(examples.image_model()).save("plan.json")
    now = measured(1.5)
    for row in now.rows:
        row.verdict = "compared"
    search.act = lambda: now
    assert tune("remeasure", "plan.json", "train.py:build", "--json") == 1
    values = json.loads(capsys.readouterr().out)
    assert values["saved_step_ms"] == 33.1
    assert values["step_ms"] > 49


def test_a_plan_without_figures_cannot_be_remeasured(search, capsys):
    report = examples.image_model()
    report.rows = []
    examples.plan_of(report).save("plan.json")
    search.act = lambda: measured(1.0)
    assert tune("remeasure", "plan.json", "train.py:build", "--json") == 1
    assert json.loads(capsys.readouterr().out)["slower_percent"] is None


HELP_OF_BATCH_SIZE = batch_size_cli.ARGUMENTS.help()


def knee():
    points = (BatchPoint(8, 800.0, 10.0, 2**30), BatchPoint(16, 1600.0, 10.0, 2**31))
    return BatchReport(16, points, "32 does not fit", 16, 16, 1, 0.012, 16, 24, "NVIDIA H200")


def test_a_batch_size_is_found_within_the_memory_and_with_the_tricks(search, capsys, tmp_path):
    search.act = knee
    words = "--memory 40GiB --select bf16,channels_last --seed 3"
    assert tune("batch-size", "train.py:build", *words.split()) == 0
    out, err = capsys.readouterr()
    job, asked = search.asked
    assert job == "train.py:build"
    assert asked["memory"] == 40 * 2**30
    assert [trick.name for trick in asked["tricks"]] == ["channels_last", "bf16"]
    assert asked["seed"] == 3
    assert "     16       1,600      10.00        2.00  <- use this" in out.splitlines()
    assert "equal measurements differed by 1.2 %: the answer may be 16 to 24" in out
    assert out.splitlines()[-1] == "device: NVIDIA H200"
    assert "8 samples   0.0 s\n" in err
    assert not (tmp_path / "plan.json").exists()


def test_a_batch_size_as_json_has_the_documented_keys(search, capsys):
    search.act = knee
    assert tune("batch-size", "a.py:b", "--json") == 0
    assert search.asked[1]["memory"] is None
    values = json.loads(capsys.readouterr().out)
    assert values["batch"] == 16
    assert values["points"][1]["peak_bytes"] == 2**31
    assert values["command"] == "tundish tune batch-size a.py:b --json"
    named = " ".join(HELP_OF_BATCH_SIZE.split("with --json:\n{")[1].split()).split("}")
    assert list(values) == named[0].split(", ")
    assert list(values["points"][0]) == named[1].partition("{")[2].split(", ")


def test_ctrl_c_before_the_first_batch_size_reports_nothing(search, capsys):
    search.act = lambda: signal.raise_signal(signal.SIGINT)
    assert tune("batch-size", "a.py:b", "-q") == 130
    assert "interrupted before there was a batch size" in capsys.readouterr().err


def test_help_starts_with_an_example_and_names_every_key(capsys):
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("examples:\n  tundish tune train.py:build\n")
    assert max(len(line) for line in out.splitlines()) <= 80
    for kind in (TuneReport, Row):
        for field in fields(kind):
            assert re.search(rf"\b{field.name}\b", out.split("with --json:")[1]), field.name
    assert {kind.name for kind in TRICKS} == set(cli_run.trick_names())


@pytest.mark.parametrize("arguments", [remeasure_cli.ARGUMENTS, batch_size_cli.ARGUMENTS])
def test_help_of_a_sub_verb_starts_with_its_example(arguments, capsys):
    assert tune(arguments.verb.removeprefix("tune "), "--help") == 0
    out = capsys.readouterr().out
    assert out.startswith(f"examples:\n  tundish {arguments.verb} ")
    assert max(len(line) for line in out.splitlines()) <= 80
    assert f"usage: tundish {arguments.verb} " in ARGUMENTS.help().replace("       tu", "usage: tu")


def test_remeasure_as_json_has_the_documented_keys(search, capsys):
    examples.plan_of(examples.image_model()).save("plan.json")
    search.act = lambda: measured(1.0)
    assert tune("remeasure", "plan.json", "a.py:b", "--json") == 0
    values = json.loads(capsys.readouterr().out)
    promised = remeasure_cli.ARGUMENTS.help().split("with --json:\n{")[1].split("}")[0]
    assert list(values) == promised.split(", ")
    assert values["report"]["command"] == "tundish tune remeasure plan.json a.py:b --json"


def test_without_torch_the_message_says_how_to_get_it():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from tundish.__main__ import main; sys.exit(main(['tune', 'a.py:b']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "tundish: tundish tune needs PyTorch\n  fix: pip install torch\n"


def test_help_needs_no_torch():
    code = (
        "import sys; from tundish.__main__ import main; code = main(['tune', '--help'])\n"
        "sys.exit(code or 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.returncode == 0


def test_the_package_finds_the_verb(search):
    assert __main__.main(["tune", "train.py:build", "-q"]) == 0
    assert search.asked[0] == "train.py:build"
