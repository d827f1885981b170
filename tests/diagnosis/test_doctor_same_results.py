"""What a script computes is the same under the doctor: the class of tensors, the samples it draws."""

import cProfile
import functools
import importlib.util
import json
import random
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset
from torchvision import tv_tensors
from tundish._process import code_origin
from tundish.diagnosis.probe.imports import AfterImport
from tundish.diagnosis.probe.loaders.dataset_profile import profile_dataset

from tests.helpers import plants

OF_THE_MODULE = np.random.default_rng(3)


def boxes():
    return tv_tensors.BoundingBoxes(torch.ones(1, 4), format="XYXY", canvas_size=(8, 8))


def test_tables_of_tensor_methods_hold_before_during_and_after_a_watch(monkeypatch):
    """torchvision keeps the class of boxes.to() for `func in {torch.Tensor.to, ...}`."""
    monkeypatch.setattr(torch.version, "cuda", "13.0")  # the watch then replaces Tensor.to
    to = torch.Tensor.to
    with plants.watched():
        first = torch.Tensor.to
        assert first is not to
        assert type(boxes().to(torch.float64)) is tv_tensors.BoundingBoxes
        assert {to: 1}[first] == {first: 1}[to] == 1
        assert torch.ones(2).to(torch.float64).dtype is torch.float64
    with plants.watched():  # as in a forked worker, where the watch begins again
        assert torch.Tensor.to is not first
        assert first in {torch.Tensor.to}
        assert first != torch.Tensor.cuda
    assert torch.Tensor.to is to


def test_what_the_script_replaced_during_a_watch_stays():
    original = torch.nn.Module.__call__
    try:
        with plants.watched():
            watched = torch.nn.Module.__call__
            own = functools.wraps(watched)(lambda *words, **named: watched(*words, **named))
            torch.nn.Module.__call__ = own
            assert torch.nn.Linear(2, 3)(torch.ones(1, 2)).shape == (1, 3)
        assert torch.nn.Module.__call__ is own
        assert torch.nn.Linear(2, 3)(torch.ones(1, 2)).shape == (1, 3)
    finally:
        torch.nn.Module.__call__ = original


def test_a_module_that_was_only_looked_for_is_hooked_when_it_is_imported(tmp_path, monkeypatch):
    (tmp_path / "looked_for.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    hook = AfterImport({"looked_for": lambda: seen.append(sys.modules["looked_for"].x)})
    hook.install()
    try:
        for _ in range(2):
            assert importlib.util.find_spec("looked_for") is not None
        assert seen == []
        importlib.import_module("looked_for")
        importlib.reload(sys.modules["looked_for"])
    finally:
        hook.uninstall()
        sys.modules.pop("looked_for", None)
    assert seen == [1]


LOOKS_FIRST = """
import importlib.util
assert importlib.util.find_spec("torch") is not None
import torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(2000):
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
"""


def test_a_script_that_looks_for_torch_first_is_judged(tmp_path):
    (tmp_path / "train.py").write_text(LOOKS_FIRST)
    words = [sys.executable, "-m", "tundish", "doctor", "--steps", "6", "--no-layers"]
    words += ["--", sys.executable, "train.py"]
    result = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0
    assert "step now" in result.stderr, result.stderr


USES_TUNDISH = """
import sys
import torch, tundish
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision.transforms import v2
from tundish import transforms as T

steps = [v2.RandomResizedCrop(8), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
print(len(T.from_torchvision(v2.Compose(steps))))
loader = tundish.accelerate(DataLoader(datasets.ImageFolder(sys.argv[1], v2.Compose(steps)), 4))
print(loader.report.native)
model = torch.nn.Linear(3 * 8 * 8, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(20):
    for images, labels in loader:
        model(images.flatten(1)).sum().backward()
        optimizer.step()
    print(T.from_torchvision(v2.Compose(steps)) is not None, flush=True)
"""


def test_a_script_gets_the_engine_as_without_the_doctor(tmp_path, photos):
    (tmp_path / "train.py").write_text(USES_TUNDISH)
    words = [sys.executable, "-m", "tundish", "doctor", "--steps", "5", "--to-end", "-v"]
    words += ["--", sys.executable, "train.py", str(photos.folder)]
    result = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "2\nTrue\n" + 20 * "True\n"), result.stderr
    assert "Layers, slowest first" in result.stderr


PLAIN = """
import sys
import torch
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision.transforms import v2

steps = [v2.RandomResizedCrop(8), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
model = torch.nn.Linear(3 * 8 * 8, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(30):
    for images, labels in DataLoader(datasets.ImageFolder(sys.argv[1], v2.Compose(steps)), 4):
        model(images.flatten(1)).sum().backward()
        optimizer.step()
"""


def test_the_engine_is_measured_and_can_be_tried(tmp_path, photos):
    (tmp_path / "train.py").write_text(PLAIN)
    words = [sys.executable, "-m", "tundish", "doctor", "--steps", "5", "--apply", "accelerate"]
    words += ["--no-layers", "-o", "doctor.json", "--", sys.executable, "train.py", photos.folder]
    result = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    values = json.loads((tmp_path / "doctor.json").read_text())
    assert values["loader"]["engine"]["native"]
    assert values["applied"]["done"], values["applied"]["text"]


class Drawn(Dataset):
    """A dataset that draws from generators of its own, at several places."""

    def __init__(self):
        self.numpy, self.old = np.random.default_rng(0), np.random.RandomState(1)
        self.parts = [{"python": random.Random(2), "system": random.SystemRandom()}]
        self.torch = torch.Generator()
        inside = random.Random(4)
        self.transform = functools.partial(lambda x, y: x + y + inside.random(), 1.0)

    def __len__(self):
        return 64

    def __getitem__(self, index):
        drawn = [self.numpy.random(), self.old.rand(), self.parts[0]["python"].random()]
        drawn += [torch.rand(1, generator=self.torch).item(), OF_THE_MODULE.random()]
        return torch.tensor([*drawn, self.transform(2.0)])


@pytest.mark.parametrize("bound", [False, True])
def test_a_look_into_a_dataset_draws_nothing_from_its_own_generators(bound):
    module_state = OF_THE_MODULE.bit_generator.state
    expected = Drawn()[0].tolist()
    OF_THE_MODULE.bit_generator.state = module_state
    data = Drawn()
    collate = data.__getitem__ if bound else None
    loader = DataLoader(data, 4, collate_fn=lambda samples: collate and samples)
    profile_dataset(loader, 0.01)
    assert data[0].tolist() == expected


@pytest.mark.parametrize("line", ["import {0}", "from {0} import draw"])
def test_a_look_into_a_dataset_draws_nothing_from_generators_of_imported_modules(
    tmp_path, monkeypatch, line
):
    """The dataset's own module imports another one, whose function draws."""
    monkeypatch.syspath_prepend(tmp_path)
    own, helper = (f"{name}_{len(line)}" for name in ("the_dataset", "the_helper"))
    (tmp_path / f"{helper}.py").write_text(
        "import numpy\nGENERATOR = numpy.random.default_rng(3)\n"
        "def draw():\n    return GENERATOR.random()\n"
    )
    call = f"{helper}.draw()" if line.startswith("import") else "draw()"
    (tmp_path / f"{own}.py").write_text(
        f"{line.format(helper)}\nclass Data:\n    def __len__(self):\n        return 40\n"
        f"    def __getitem__(self, index):\n        return {call}\n"
    )
    data = importlib.import_module(own).Data()
    profile_dataset(DataLoader(data, 4), 0.01)
    assert data[0] == np.random.default_rng(3).random()


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_packages_of_another_environment_are_no_files_of_the_user(folder):
    file = f"/home/me/.local/lib/python3.11/{folder}/lightning/pytorch/trainer.py"
    assert not code_origin.is_user_file(file)
    assert code_origin.framework_name(file) == "lightning"
    assert code_origin.framework_name(file.replace("lightning/", "torch/")) == ""
    assert code_origin.is_user_file("/home/me/dist-packages.py")


def test_a_profiler_of_the_script_profiles_on():
    loader = DataLoader(plants.Samples(), 4)
    with cProfile.Profile():
        own = sys.getprofile()
        assert profile_dataset(loader, 0.01).sample_s > 0
        assert sys.getprofile() is own
        with plants.watched(functions=3) as session:
            plants.train(loader)
        assert sys.getprofile() is own
    assert "the script uses a profiler itself" in str(session.end().recorded.failed)
