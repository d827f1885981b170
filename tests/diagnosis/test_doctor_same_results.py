"""What a script computes is the same under the doctor: the class of tensors, the samples it draws."""

import functools

import numpy as np
import torch
from torchvision import tv_tensors

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


def test_what_the_script_replaced_during_a_watch_stays(monkeypatch):
    with plants.watched():
        watched = torch.nn.Module.__call__
        own = functools.wraps(watched)(lambda *words, **named: watched(*words, **named))
        monkeypatch.setattr(torch.nn.Module, "__call__", own)
        assert torch.nn.Linear(2, 3)(torch.ones(1, 2)).shape == (1, 3)
    assert torch.nn.Module.__call__ is own
    assert torch.nn.Linear(2, 3)(torch.ones(1, 2)).shape == (1, 3)
    monkeypatch.setattr(torch.nn.Module, "__call__", watched.__wrapped__)
