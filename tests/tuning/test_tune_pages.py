"""docs/tricks.md has every trick, docs/tune.md every option that it shows; its example for Accelerate runs."""

import re
from dataclasses import fields

import pytest
from tundish.tuning.cli_words import HELP, parse
from tundish.tuning.confirm import HUMAN
from tundish.tuning.reading import REFERENCES
from tundish.tuning.tricks import TRICKS

from tests.helpers.program import ROOT
from tests.tuning.test_frameworks import plan_of

TRICKS_PAGE = (ROOT / "docs/tricks.md").read_text()
TUNE_PAGE = (ROOT / "docs/tune.md").read_text()


def section(name):
    parts = TRICKS_PAGE.split(f"\n## {name}\n")
    assert len(parts) == 2, f"docs/tricks.md needs one section: ## {name}"
    return parts[1].split("\n## ")[0]


@pytest.mark.parametrize("kind", TRICKS, ids=lambda kind: kind.name)
def test_every_trick_has_a_section_with_its_grade_and_lines(kind):
    text = section(kind.name)
    assert f"\nGrade: {kind.grade.value}" in text
    if not fields(kind) or kind.name == "compile":
        for line in kind().code() if kind.name != "torch_defaults" else []:
            assert f"\n{line}\n" in text


def test_a_trick_without_a_section_would_be_found():
    with pytest.raises(AssertionError, match="needs one section: ## free_lunch"):
        section("free_lunch")


def test_the_commands_of_the_page_are_accepted(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"^    tundish tune (.*)$", TUNE_PAGE, re.M)
    assert len(lines) == 2
    for line in lines:
        assert parse(line.split()).job == "train.py:build"


def test_the_command_of_the_page_on_batch_sizes_is_accepted():
    page = (ROOT / "docs/batch-size.md").read_text()
    (line,) = re.findall(r"^    tundish tune (.*)$", page, re.M)
    options = parse(line.split())
    assert options.batch_size
    assert options.memory == 40
    assert {*options.tricks} <= {kind.name for kind in TRICKS}


def test_the_page_and_the_help_have_the_same_exit_codes():
    codes = re.findall(r"^\| (\d+) \|", TUNE_PAGE, re.M)
    assert codes == re.findall(r"\b(\d+) [a-z]+", HELP.split("exit codes:")[1])


ACCELERATE = """
import sys, torch, tundish
from tundish.tuning.plan import load_plan
from tests.tuning.test_frameworks import make
import os
os.chdir(sys.argv[1])
torch.set_num_threads(1)
vars(tundish).setdefault("load_plan", load_plan)
def build():
    model, optimizer = make()
    return model, optimizer, torch.nn.CrossEntropyLoss(), None
loader = [(torch.randn(8, 3, 12, 12), torch.randint(0, 5, (8,))) for _ in range(5)]
"""
CHECKED = """
weight = model[0].weight
assert weight.is_contiguous(memory_format=torch.channels_last)
assert optimizer.param_groups[0]["fused"]
assert (weight - make()[0][0].weight).abs().max() > 1e-3
assert model(loader[0][0]).dtype == torch.float32 and accelerator.mixed_precision == "bf16"
"""


def test_the_example_for_accelerate_runs(tmp_path, run_python):
    plan_of("bf16", "channels_last", "fused_optimizer", "cuda_graph").save(tmp_path / "plan.json")
    block = re.search(r"^## Accelerate\n.*?```py\n(.*?)```", TUNE_PAGE, re.M | re.S)[1]
    result = run_python(ACCELERATE + block + CHECKED, tmp_path)
    assert "left out: ['CUDA graph of the step: needs step = plan.apply(" in result.stdout


def test_one_word_for_each_reference():
    """The table, the page for users and the keys of the JSON call a reference by one name."""
    for key, shown in REFERENCES.items():
        assert f"\n| {shown} |" in TUNE_PAGE, key
    assert REFERENCES[HUMAN] == f"the {HUMAN}"
    assert "usual recipe" not in TUNE_PAGE
