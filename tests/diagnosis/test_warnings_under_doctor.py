"""Warnings point to the same line with and without the doctor."""

import contextlib
import warnings

import torch
import tundish
from torch.utils.data import DataLoader, Dataset

from tests.helpers import plants
from tests.helpers.small_set import make_folder

LEVELS = range(1, 14)


def warn_of_callers(word):
    for level in LEVELS:
        warnings.warn(f"{word} {level}", stacklevel=level)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x):
        warn_of_callers("forward")
        return Backward.apply(self.linear(x))


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        warn_of_callers("backward")
        return gradient


class Samples(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        warn_of_callers("item")
        return torch.ones(8), 1


def places():
    """Returns the distinct text, file and line of the warnings of a short training run."""
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for x, y in DataLoader(Samples(), 4):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    return {(str(one.message), one.filename, one.lineno) for one in caught}


def test_warnings_name_the_same_lines_as_without_the_doctor():
    seen = []
    for around in (contextlib.nullcontext(), plants.watched()):
        with around:
            seen.append(places())
    plain, watched = seen
    assert {text.split()[0] for text, _, _ in plain} == {"forward", "backward", "item"}
    assert watched == plain


def test_warnings_of_a_loader_of_tundish_name_the_loop(tmp_path):
    folder = make_folder(tmp_path / "photos", 8, size=20)
    sorted(folder.rglob("*.png"))[3].write_bytes(b"\x89PNG\r\n\x1a\n and nothing")
    loader = tundish.Loader(folder, 4, on_error="substitute")
    with plants.watched(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in loader:
            pass
    assert [one.filename for one in caught] == [__file__]
