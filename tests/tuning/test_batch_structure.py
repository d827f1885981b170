"""Batches of any class: a step trains on them, splits them, and recognizes equal ones."""

from __future__ import annotations

import warnings
from collections import UserDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from tundish.tuning import Accumulate, ChannelsLast, Compile, Job, Step
from tundish.tuning.batch_structure import map_tensors, samples_of, signature, tensors_of
from tundish.tuning.job import list_batches


class Encoding(UserDict):  # type: ignore[type-arg]  # as the tokenizers of Hugging Face return it
    def __getattr__(self, name: str) -> Any:
        return self.data[name]


@dataclass(frozen=True)
class Pair:
    inputs: torch.Tensor
    labels: torch.Tensor
    names: Any = None

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


class Opaque:
    pass


KINDS: dict[str, Callable[[Any, Any], Any]] = {
    "encoding": lambda inputs, labels: Encoding(inputs=inputs, labels=labels),
    "dataclass": lambda inputs, labels: Pair(inputs, labels),
    "array": lambda inputs, labels: {"inputs": inputs, "labels": labels, "ids": np.arange(6)},
    "names": lambda inputs, labels: Pair(inputs, labels, ["a.jpg"]),
}


def loss_fn(model: nn.Module, batch: Any) -> torch.Tensor:
    return nn.functional.cross_entropy(model(batch["inputs"]), batch["labels"])


def parts(number: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(number)
    return torch.randn(6, 3, 4, 4, generator=generator), torch.arange(6) % 2


def made() -> Step:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 2, 3), nn.Flatten(), nn.Linear(8, 2))
    return Step(model, torch.optim.SGD(model.parameters(), 0.1), loss_fn)


@pytest.mark.parametrize("kind", [*KINDS])
def test_a_step_trains_on_batches_of_any_class(kind: str) -> None:
    plain, tuned = made(), made()
    ChannelsLast().apply(tuned)
    Accumulate(2).apply(tuned)
    seen: list[int] = []
    tuned.loss_fn = lambda model, batch: seen.append(samples_of(batch)) or loss_fn(model, batch)
    for number in range(3):
        plain({"inputs": parts(number)[0], "labels": parts(number)[1]})
        tuned(KINDS[kind](*parts(number)))
    for a, b in zip(plain.model.parameters(), tuned.model.parameters()):
        torch.testing.assert_close(a, b)
    assert seen == [3] * 6


@pytest.mark.parametrize("kind", [*KINDS])
def test_equal_batches_have_equal_hashable_signatures(kind: str) -> None:
    one, other = (KINDS[kind](*parts(number)) for number in range(2))
    assert signature(one) == signature(other)
    shorter = KINDS[kind](parts(0)[0][:5], parts(0)[1][:5])
    job = Job(made().model, made().optimizer, loss_fn, [one, other])
    assert not job.shapes_vary
    job.batches.append(shorter)
    assert job.shapes_vary
    assert list_batches(one, "build()")[0] is one


def test_other_values_make_other_signatures() -> None:
    values = [1, True, 1.5, "a", None, np.arange(3), np.arange(4), np.zeros(3), Opaque(), Opaque()]
    assert len({signature((torch.zeros(2), value)) for value in values}) == len(values)
    kept = Opaque()
    assert signature(kept) == signature(kept)


def test_a_mapped_batch_keeps_its_class() -> None:
    encoding = Encoding(inputs=torch.ones(2), labels=torch.ones(2))
    doubled = map_tensors(lambda tensor: 2 * tensor, encoding)
    assert doubled.inputs.tolist() == [2, 2]
    assert encoding.inputs.tolist() == [1, 1]
    pair = Pair(torch.ones(2), torch.ones(2), names=["a"])
    assert map_tensors(lambda tensor: 2 * tensor, pair).labels.tolist() == [2, 2]
    assert pair.labels.tolist() == [1, 1]
    assert len(list(tensors_of([encoding, pair]))) == 4


def test_values_that_disable_the_compiled_step_are_reported() -> None:
    step = made()
    Compile().apply(step)
    step.compiled_loss_of = step.loss_of  # type: ignore[method-assign]
    step(Pair(*parts(0), names=["a.jpg"]))
    with pytest.warns(UserWarning, match="values that are not tensors"):
        step(Pair(*parts(1), names=["b.jpg"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(Pair(parts(1)[0][:4], parts(1)[1][:4], names=["b.jpg"]))  # the last batch of an epoch
        made()(Pair(*parts(0), names=["b.jpg"]))
