"""docs/tricks.md has every trick; options and examples of docs/tune.md are valid."""

import importlib
import re
import sys
from dataclasses import fields

import pytest
import torch
from tundish.tuning.cli.batch_size_verb import ARGUMENTS as BATCH_SIZE
from tundish.tuning.cli.remeasure_verb import ARGUMENTS as REMEASURE
from tundish.tuning.cli.tune_options import ARGUMENTS
from tundish.tuning.report.report_queries import REFERENCES
from tundish.tuning.search.confirmation import HUMAN
from tundish.tuning.step import Step
from tundish.tuning.tricks import TRICKS, in_order, load_own
from tundish.tuning.tricks.compile import Compile

from tests.helpers.program import ROOT
from tests.helpers.warm_python import FRAMEWORKS, run_warm
from tests.tuning import jobs
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
    sub_verbs = {"remeasure": REMEASURE, "batch-size": BATCH_SIZE}
    assert {line.split()[0] for line in lines} == {"train.py:build", *sub_verbs}
    for line in lines:
        first, *others = line.split()
        arguments = sub_verbs.get(first, ARGUMENTS)
        argv = others if first in sub_verbs else [first, *others]
        assert arguments.parse(argv).job == "train.py:build"


def test_the_command_for_batch_sizes_names_known_tricks():
    (line,) = re.findall(r"^    tundish tune batch-size (.*)$", TUNE_PAGE, re.M)
    options = BATCH_SIZE.parse(line.split())
    assert options.memory == 40 * 2**30
    assert {*options.select} <= {kind.name for kind in TRICKS}


def test_the_command_of_the_page_on_memory_is_accepted():
    page = (ROOT / "docs/training-memory.md").read_text()
    (line,) = re.findall(r"^    tundish tune (.*)$", page, re.M)
    assert ARGUMENTS.parse(line.split()).memory == 20 * 2**30


def test_the_page_says_which_tricks_the_search_never_tries():
    """The search's modules name the classes of the tricks that they try."""
    modules = [
        importlib.import_module(f"tundish.tuning.search.{name}")
        for name in ("search", "memory_target", "confirmation")
    ]
    tried = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    table = TRICKS_PAGE.split("\n## Which tricks are tried\n")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| (`.*?) \| (.*) \|$", table, re.M))
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(kind.name for kind in TRICKS)
    (never,) = [row for row, when in rows.items() if when.startswith("never:")]
    assert set(re.findall(r"`(\w+)`", never)) == {k.name for k in TRICKS if k not in tried}


def test_the_page_and_the_help_have_the_same_exit_codes():
    codes = re.findall(r"^\| (\d+) \|", TUNE_PAGE, re.M)
    for arguments in (ARGUMENTS, REMEASURE):
        shown = " ".join(arguments.help().split("exit codes:")[1].split())
        assert codes == re.findall(r"\b(\d+) [a-z]+", shown)


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


def test_the_example_for_accelerate_runs(tmp_path):
    plan_of("bf16", "channels_last", "fused_optimizer", "cuda_graph").save(tmp_path / "plan.json")
    block = re.search(r"^### Accelerate\n.*?```py\n(.*?)```", TUNE_PAGE, re.M | re.S)[1]
    result = run_warm("-c", ACCELERATE + block + CHECKED, tmp_path, imports=FRAMEWORKS)
    assert "left out: ['CUDA graph of the step: needs step = plan.apply(" in result.stdout


def test_each_reference_has_one_name():
    """The table, the user page and the JSON keys use one name per reference."""
    for key, shown in REFERENCES.items():
        assert f"\n| {shown} |" in TUNE_PAGE, key
    assert REFERENCES[HUMAN] == f"the {HUMAN}"
    assert "usual recipe" not in TUNE_PAGE


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch imports its compiler
def test_the_example_of_max_autotune_reaches_the_compiler(tmp_path, monkeypatch):
    """The example is applied before the plan's torch.compile in default mode; undo() removes it."""
    block = re.search(r"```py\n# autotune.py\n(.*?)```", TRICKS_PAGE, re.S)[1]
    (tmp_path / "autotune.py").write_text(block)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "autotune", None)  # restored after the test
    own = load_own(f"{tmp_path / 'autotune.py'}:MaxAutotune")()
    compile_fx = importlib.import_module("torch._inductor.compile_fx")
    config = importlib.import_module("torch._inductor.config")
    seen = []

    def compiler(graph, inputs, config_patches=None, **words):
        assert not config_patches  # the options of the mode would override the flags
        seen.append((config.max_autotune, config.coordinate_descent_tuning))
        return graph.forward

    monkeypatch.setattr(compile_fx, "compile_fx", compiler)
    model, optimizer, loss_fn, batch = jobs.mlp()
    step = Step(model, optimizer, loss_fn)
    for trick in in_order([Compile(), own]):
        trick.apply(step)
    step(batch)
    assert seen == [(True, True)]
    own.undo(step)
    torch.compiler.reset()
    step(batch)
    assert seen[1:] == [(False, False)]
    modes = importlib.import_module("torch._inductor").list_mode_options
    assert modes("max-autotune-no-cudagraphs").keys() == {
        "max_autotune",
        "coordinate_descent_tuning",
    }
    assert 'mode="max-autotune-no-cudagraphs"' in own.code()[0]


def test_the_commands_of_the_page_on_tricks_are_accepted():
    lines = re.findall(r"^    tundish tune (.*)$", TRICKS_PAGE, re.M)
    assert [ARGUMENTS.parse(line.split()).custom_trick for line in lines] == [
        ["tricks.py:NoAuxiliaryHead"],
        ["autotune.py:MaxAutotune"],
    ]
