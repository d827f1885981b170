"""A file that is not a plan: the error names the file, the field, the reason and the fix."""

import json
from pathlib import Path

import pytest
import tundish
from tundish.tuning import Accumulate

from tests.helpers import tuning_reports as examples

PLANTED = f"{Path(__file__).parent / 'planted.py'}:NoWait"


def saved(tmp_path, change=lambda values: None):
    """Writes a plan with modified JSON."""
    path = tmp_path / "my plan.json"
    examples.plan_of(examples.image_model()).save(path)
    values = json.loads(path.read_text())
    values = change(values) or values
    path.write_text(json.dumps(values))
    return path


def set_at(*keys, to):
    def change(values):
        inner = values
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = to

    return change


def drop(*keys):
    def change(values):
        inner = values
        for key in keys[:-1]:
            inner = inner[key]
        del inner[keys[-1]]

    return change


WRONG = [
    (lambda values: ["nothing"], "it holds a list, not an object"),
    (drop("format"), "format is missing"),
    (set_at("format", to="1"), "format is the text '1', not a whole number"),
    (set_at("format", to=0), "format is 0; the first format is 1"),
    (drop("tricks"), "tricks is missing"),
    (drop("report"), "report is missing"),
    (drop("fingerprint"), "fingerprint is missing"),
    (set_at("tricks", to=5), "tricks is a number, not a list"),
    (set_at("tricks", 0, to="bf16"), "tricks[0] is the text 'bf16', not an object"),
    (drop("tricks", 1, "name"), "tricks[1].name is missing"),
    (set_at("tricks", 0, "name", to="warp"), "tricks[0]: unknown trick 'warp'; known tricks: "),
    (set_at("tricks", 0, "name", to=None), "tricks[0].name is null, not text"),
    (set_at("tricks", 0, "own", to=3), "tricks[0].own is a number, not text"),
    (set_at("tricks", 3, "mode", to=7), "tricks[3].mode is a number, not text"),
    (
        lambda values: values["tricks"].append(values["tricks"][1]),
        "tricks[4] is fused_optimizer, which the plan has already",
    ),
    (set_at("tricks", 3, "speed", to=7), "tricks[3] has an unknown field, speed"),
    (
        set_at("tricks", 0, to={"name": "checkpointing", "blocks": ["a", 4]}),
        "tricks[0].blocks[1] is a number, not text",
    ),
    (drop("fingerprint", "weights"), "fingerprint.weights is missing"),
    (set_at("fingerprint", to=[]), "fingerprint is a list, not an object"),
    (set_at("fingerprint", "batch", to={}), "fingerprint.batch is an object, not a list"),
    (set_at("fingerprint", "parameters", to=1.5), "parameters is the number 1.5, not a whole"),
    (set_at("report", "color", to="red"), "report has an unknown field, color"),
    (set_at("report", "rows", 2, "step_ms", to="3"), "report.rows[2].step_ms is the text '3'"),
    (set_at("report", "rows", 2, "host_bound", to=1), "rows[2].host_bound is a number, not true"),
    (drop("report", "rows", 2, "label"), "report.rows[2].label is missing"),
    (drop("report", "rows", 2, "tricks", 0, "name"), "report.rows[2].tricks[0].name is missing"),
    (drop("report", "gains", "baseline", "gain"), "report.gains.baseline.gain is missing"),
    (set_at("report", "finished", to=None), "report.finished is null, not true or false"),
    (set_at("report", "timeline", to=[[1.0, "start"]]), "report.timeline[0] has 2 values, not 3"),
]


@pytest.mark.parametrize(("change", "said"), WRONG, ids=[said for _, said in WRONG])
def test_the_field_is_named_with_the_reason(change, said, tmp_path):
    path = saved(tmp_path, change)
    with pytest.raises(tundish.ArgumentError) as error:
        tundish.load_plan(path)
    first, second = str(error.value).splitlines()
    assert first.startswith(f"{path} is not a plan: ")
    assert said in first
    assert second == f"  fix: make it again: tundish tune FILE:FUNCTION -f -o {path}"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it is not JSON: Expecting value in line 1, column 1"),
        (b'{\n "format": 1,,\n}', "in line 2, column 14"),
        (b"\xff\xfe", "it is not text in UTF-8: byte 0 is wrong"),
        (b"[" * 100_000, "it is not JSON"),
        (b"9" * 10_000, "it is not JSON"),
    ],
)
def test_invalid_json_is_reported_with_its_position(data, said, tmp_path):
    path = tmp_path / "plan.json"
    path.write_bytes(data)
    with pytest.raises(tundish.ArgumentError) as error:
        tundish.load_plan(path)
    assert str(error.value).startswith(f"{path} is not a plan: ")
    assert said in str(error.value)


def test_a_newer_format_is_named(tmp_path):
    path = saved(tmp_path, set_at("format", to=2))
    with pytest.raises(tundish.ArgumentError) as error:
        tundish.load_plan(path)
    first, second = str(error.value).splitlines()
    assert first.startswith(f"{path}: format is 2, saved by a newer version of Tundish")
    assert f"{tundish.__version__} reads format 1" in first
    assert "fix: pip install --upgrade tundish" in second


def test_a_folder_is_refused_as_a_plan(tmp_path):
    with pytest.raises(tundish.ArgumentError, match="cannot be read: Is a directory\n  fix: "):
        tundish.load_plan(tmp_path)


def test_a_valid_plan_survives_saving(tmp_path):
    before = examples.plan_of(examples.image_model())
    loaded = tundish.load_plan(saved(tmp_path))
    assert sorted(map(str, loaded.tricks)) == sorted(map(str, before.tricks))
    assert loaded.report == before.report
    assert loaded.fingerprint == before.fingerprint


def test_a_whole_number_may_have_a_decimal_point(tmp_path):
    trick = {"name": "accumulate", "parts": 2.0}
    plan = tundish.load_plan(saved(tmp_path, set_at("tricks", to=[trick])))
    assert plan.tricks == [Accumulate(2)]
    assert isinstance(plan.tricks[0].parts, int)


def test_own_may_be_a_single_string(tmp_path):
    own = {"name": "no_wait", "own": "elsewhere.py:NoWait"}
    path = saved(tmp_path, set_at("tricks", 0, to=own))
    names = [trick.name for trick in tundish.load_plan(path, custom_tricks=PLANTED).tricks]
    assert "no_wait" in names
    wrong = saved(tmp_path, set_at("tricks", 0, to={**own, "depth": 3}))
    with pytest.raises(tundish.ArgumentError, match=r"tricks\[0\]: .* has no option 'depth'"):
        tundish.load_plan(wrong, custom_tricks=[PLANTED])
