"""torch's TF32 flags, which have two names, are restored after being disabled temporarily."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from tundish.tuning.job import as_job
from tundish.tuning.numerics.gate import gate, ground
from tundish.tuning.tricks.autocast import Bf16
from tundish.tuning.tricks.channels_last import ChannelsLast
from tundish.tuning.tricks.tf32 import Flags, flags, set_flags

from . import jobs

BACKENDS: Any = torch.backends
ABOVE = [BACKENDS, BACKENDS.cudnn]
OWNERS = [*ABOVE, BACKENDS.cuda.matmul, BACKENDS.cudnn.conv, BACKENDS.cudnn.rnn]
SETTINGS = list(itertools.product(["none", "ieee", "tf32"], repeat=len(OWNERS)))


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = precisions()
    older = older_names()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
        BACKENDS.cuda.matmul.allow_tf32, BACKENDS.cudnn.allow_tf32 = older
        use(before)


def use(values: Any) -> None:
    for owner, value in zip(OWNERS, values):
        owner.fp32_precision = value


def precisions() -> list[str]:
    """Returns the flags as set, not as inherited from the parent flags."""
    found = []
    for owner in OWNERS:
        found.append(owner.fp32_precision)
        owner.fp32_precision = "none"
    use(found)
    return found


def older_names() -> list[Any]:
    def read(one: Callable[[], bool]) -> Any:
        try:
            return one()
        except RuntimeError:  # torch: the flag contradicts the newer name
            return "contradicts"

    return [
        read(lambda: BACKENDS.cuda.matmul.allow_tf32),
        read(lambda: BACKENDS.cudnn.allow_tf32),
    ]


@pytest.mark.parametrize("products", [False, True])
@pytest.mark.parametrize("convolutions", [False, True])
def test_every_setting_is_restored(products: bool, convolutions: bool) -> None:
    for values in SETTINGS:
        BACKENDS.cuda.matmul.allow_tf32 = products
        BACKENDS.cudnn.allow_tf32 = convolutions
        use(values)
        before = precisions(), older_names()
        kept = Flags()
        assert (precisions(), older_names()) == before
        for on in (False, True):
            set_flags(on, on)
            assert [owner.fp32_precision == "tf32" for owner in OWNERS[2:]] == [on] * 3, values
            assert flags() == (on, on)
            assert older_names() == [on, on]
        kept.restore()
        assert (precisions(), older_names()) == before


@pytest.mark.parametrize("values", [["none"] * 5, ["tf32"] + ["none"] * 4, ["tf32"] * 5])
def test_the_numeric_checks_run_without_tf32_and_restore_it(values: list[str]) -> None:
    use(values)
    before = precisions()
    with ground():
        assert flags() == (False, False)
        assert BACKENDS.cudnn.rnn.fp32_precision == "ieee"
    assert precisions() == before
    for trick in (ChannelsLast(), Bf16()):
        assert not gate(lambda: as_job(jobs.cnn(), ""), [trick], 0, 4).obstacle
        assert precisions() == before
