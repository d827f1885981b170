"""Messages of `tundish tune` for a job that cannot be tuned: the problem and the fix."""

import functools
import sys

import numpy as np
import pytest
import torch
import tundish
from tundish import ArgumentError
from tundish.tuning.job import JobSource, as_job, source_of


def parts():
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = (torch.zeros(3, 4), torch.zeros(3, dtype=torch.int64))
    return {
        "model": model,
        "optimizer": optimizer,
        "loss_fn": torch.nn.CrossEntropyLoss(),
        "batch": batch,
    }


def sized(size=4):
    return parts()


class Maker:
    def __call__(self):
        return parts()

    def make(self):
        return parts()

    @staticmethod
    def static():
        return parts()


def inner():
    def build():
        return parts()

    return build


def at_a_prompt():
    made = {}
    exec("def build(): pass", made)
    return made["build"]


def frozen():
    return torch.nn.Linear(4, 2).requires_grad_(False)


def flat_job():
    model = torch.nn.Linear(4, 2)
    return {"model": model, "optimizer": tundish.optim.flatten(model).optimizer(torch.optim.SGD)}


WRONG = [
    (flat_job(), "the optimizer has flat parameters, which cannot be tuned", "without flatten()"),
    ({"model": None}, "the model is a NoneType, not a torch.nn.Module", "in this order: model"),
    ({"model": frozen()}, "no parameter of the model requires a gradient", "requires_grad = True"),
    ({"model": torch.nn.ReLU()}, "nothing to train", "requires_grad = True"),
    (
        {"model": torch.nn.Linear(4, 2)},
        "trains none of the model's parameters",
        "make the optimizer",
    ),
    (
        {"optimizer": "SGD"},
        "the optimizer is a str, not a torch.optim.Optimizer",
        "not its scheduler",
    ),
    ({"loss_fn": torch.tensor(1.0)}, "loss_fn is a Tensor, not a function", "not a loss that it"),
    ({"batch": 3}, "the batch is a int", "return one batch, as in (inputs, targets)"),
    ({"batch": []}, "there is no batch in the list", "return one batch"),
    ({"batch": iter(())}, "there is no batch in the tuple_iterator", "return one batch"),
    ({"batch": (np.zeros(3), np.zeros(3))}, "batch 0 holds no tensor", "torch.as_tensor()"),
    ({"batch": {"x": [1, 2]}}, "batch 0 holds no tensor; it is a dict", "torch.as_tensor()"),
    (
        {"batch": torch.zeros(3, 4, device="meta")},
        "batch 0 is on meta, the model on cpu",
        "move the",
    ),
]


@pytest.mark.parametrize(("change", "wrong", "fix"), WRONG, ids=[one[1] for one in WRONG])
def test_invalid_jobs_are_reported_with_a_fix(change, wrong, fix):
    with pytest.raises(ArgumentError) as error:
        as_job({**parts(), **change}, "train.py:build()")
    first, *rest = str(error.value).splitlines()
    assert first.startswith("train.py:build(): ")
    assert wrong in first
    assert rest[0].startswith("  fix: ")
    assert fix in rest[0]


def test_valid_jobs_are_accepted():
    job = as_job(parts(), "train.py:build()")
    assert len(job.batches) == 1
    many = as_job({**parts(), "batch": (parts()["batch"] for _ in range(20))}, "x")
    assert len(many.batches) == 8
    assert len(as_job({**parts(), "batch": list(parts()["batch"])}, "x").batches) == 1


@pytest.mark.parametrize("made", [None, (1, 2, 3), {"model": 1}])
def test_the_four_values_are_named(made):
    with pytest.raises(ArgumentError, match=r"fix: .*model, optimizer, loss_fn, batch"):
        as_job(made, "train.py:build()")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("train.py", "as in train.py:build"),
        ("build", "as in train.py:build"),
        ("train.py:", "as in train.py:build"),
        ("a:b c", "as in train.py:build"),
        ("gone.py:build", "gone.py: no such file\n  fix: name the Python file that has build()"),
    ],
)
def test_file_and_function_are_explained(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError) as error:
        source_of(words)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("build = 3", "has no function build()"),
        ("def build(size): pass", "needs an argument, size; it is called without any"),
        ("def build(size=3, *more, **words): pass", "returned a NoneType, not model"),
    ],
)
def test_the_function_is_checked_before_it_is_called(text, said, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "job_of_test", None)  # restored after the test
    (tmp_path / "job_of_test.py").write_text(text)
    with pytest.raises(ArgumentError) as error:
        JobSource(str(tmp_path / "job_of_test.py"), "build").make(0)
    assert said in str(error.value)
    assert "\n  fix: " in str(error.value)


NOT_IMPORTABLE = [
    (lambda: parts(), r"a lambda \(line \d+\) has no name in a file", "write it as def build()"),
    (inner(), r"build\(\) is defined inside inner\(\)", r"move build\(\) to the top level"),
    (
        functools.partial(sized, size=3),
        r"a functools.partial of sized\(\) has no name in a file",
        r"def build\(\): return sized\(...\)",
    ),
    (Maker().make, r"Maker.make\(\) is a method of an object", "makes the object and calls"),
    (Maker(), "an object of the class Maker", r"def build\(\): return Maker\(...\)\(\)"),
    (
        Maker.static,
        r"static\(\) is defined in the class Maker",
        r"def build\(\): return Maker.static\(\)",
    ),
    (at_a_prompt(), r"build\(\) is not in a file, as in a notebook", '"train.py:build"'),
    (len, r"len\(\) is not in a file", '"train.py:len"'),
]


@pytest.mark.parametrize(
    ("build", "said", "fix"), NOT_IMPORTABLE, ids=[one[1] for one in NOT_IMPORTABLE]
)
def test_a_function_that_no_process_can_import_is_named(build, said, fix):
    with pytest.raises(ArgumentError, match=rf"{said}.*: every trial runs .*\n  fix: .*{fix}"):
        source_of(build)


@pytest.mark.parametrize("build", [None, 3, ("model", "optimizer")])
def test_a_job_that_is_not_a_function_is_refused(build):
    kind = type(build).__name__
    with pytest.raises(ArgumentError, match=rf"build is a {kind}, not a function\n  fix: pass the"):
        source_of(build)


def test_a_decorated_function_is_imported_from_its_own_file(tmp_path):
    """The wrapper's code is in another file, which does not define the function."""
    assert source_of(sized) == JobSource(__file__, "sized")
    text = "import functools\ndef decorated(function):\n    @functools.wraps(function)\n    def around(): pass\n    return around\n"
    made = {}
    (tmp_path / "decorators.py").write_text(text)
    exec(compile(text, tmp_path / "decorators.py", "exec"), made)
    assert source_of(made["decorated"](sized)) == JobSource(__file__, "sized")


@pytest.mark.parametrize("has_init", [True, False])
def test_a_file_with_relative_imports_is_imported_as_a_part_of_its_package(
    has_init, tmp_path, monkeypatch
):
    """`python -m project_a.jobs.train` runs it, with or without an __init__.py."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    project = tmp_path / f"project_{has_init}"
    (project / "jobs").mkdir(parents=True)
    for folder in (project, project / "jobs"):
        if has_init:
            (folder / "__init__.py").write_text("")
    (project / "net.py").write_text("import torch\nclass Net(torch.nn.Linear): pass\n")
    (project / "jobs" / "train.py").write_text(
        "import torch\nfrom ..net import Net\ndef build():\n"
        "    model = Net(2, 2)\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    return model, optimizer, torch.nn.MSELoss(), (torch.ones(1, 2), torch.ones(1, 2))\n"
    )
    job = source_of(f"{project}/jobs/train.py:build").make(0)
    assert type(job.model).__module__ == f"{project.name}.net"
