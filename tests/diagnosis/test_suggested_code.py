"""Suggested code is equivalent to the code it replaces: both run, and the results are compared."""

import warnings

import numpy as np
import pytest
import torch

from tests.diagnosis import planted

AUTOCASTS = [
    "torch.cpu.amp.autocast()",
    "torch.cpu.amp.autocast(False)",
    "torch.cpu.amp.autocast(enabled=flag is not None)",
    "torch.cpu.amp.autocast(True, torch.float16)",
    "torch.cpu.amp.autocast(dtype=torch.float16, enabled=flag is None, cache_enabled=False)",
    "torch.cuda.amp.autocast(enabled=False, dtype=torch.bfloat16)",
    "torch.cuda.amp.autocast(**{'enabled': False})",
]
SCALERS = [
    "torch.cpu.amp.GradScaler()",
    "torch.cpu.amp.GradScaler(enabled=flag is not None)",
    "torch.cpu.amp.GradScaler(2.0**10, 4.0, growth_interval=7)",
    "torch.cuda.amp.GradScaler(enabled=False)",
]
FACTORIES = [
    "torch.zeros(3).to(device=device, dtype=torch.bool)",
    "torch.arange(0, 1, 0.1).to(device, torch.long)",
    "torch.ones(2, 3, dtype=torch.half).to(device, non_blocking=True)",
    "torch.full((2,), 2.5).to(device, dtype=torch.int32, copy=True)",
]


def suggestion(code, select):
    """Returns the fix of the only finding in a script that runs the code in every step."""
    text = f"""import torch
device = options.device
for x in loader:
    torch.nn.Linear(1, 2).cuda()(x).sum().backward()
    value = {code}
"""
    (finding,) = planted.findings(text, [select])
    return finding.fix.removeprefix("create it on the GPU: ")


def evaluate(code):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(code, {"torch": torch, "flag": None, "device": torch.device("cpu")})


@pytest.mark.parametrize("code", AUTOCASTS)
def test_autocast_keeps_its_device_type_dtype_and_switches(code):
    old, new = evaluate(code), evaluate(suggestion(code, "old-amp"))
    assert type(new) is torch.autocast
    for name in ("device", "fast_dtype", "_enabled", "_cache_enabled"):
        assert getattr(new, name) == getattr(old, name)


@pytest.mark.parametrize("code", SCALERS)
def test_grad_scaler_keeps_its_numbers_and_its_switch(code):
    old, new = evaluate(code), evaluate(suggestion(code, "old-amp"))
    assert new.is_enabled() == old.is_enabled()
    assert new.state_dict() == old.state_dict()


@pytest.mark.parametrize("code", FACTORIES)
def test_a_tensor_made_on_its_device_has_the_same_values_and_type(code):
    old, new = evaluate(code), evaluate(suggestion(code, "created-on-cpu"))
    assert new.dtype == old.dtype
    assert torch.equal(new, old)


ARRAYS = [
    "torch.tensor(array)",
    "torch.tensor(array, dtype=torch.float16)",
    "torch.Tensor(array)",
    "torch.FloatTensor(array)",
]


@pytest.mark.parametrize("code", ARRAYS)
@pytest.mark.parametrize("kind", ["float32", "float64", "uint8"])
def test_an_array_that_is_not_copied_has_the_same_values_and_type(code, kind):
    text = f"""import torch
import numpy as np
def collate(samples):
    array = np.stack(samples)
    return {code}
"""
    (finding,) = planted.findings(text, ["numpy-copied"])
    scope = {"torch": torch, "array": np.arange(6, dtype=kind).reshape(2, 3)}
    old, new = eval(code, dict(scope)), eval(finding.fix.partition(" shares ")[0], dict(scope))
    assert new.dtype == old.dtype
    assert torch.equal(new, old)


def test_variable_detaches_as_its_replacement_does():
    code = "torch.autograd.Variable(hidden, requires_grad=True)"
    hidden = torch.ones(2, requires_grad=True) * 2
    scope = {"torch": torch, "hidden": hidden}
    old = eval(code, dict(scope))
    text = f"import torch\nx = {code}\n"
    (finding,) = planted.findings(text, ["old-variable"])
    new = eval(finding.fix, dict(scope))
    assert new.requires_grad
    assert old.requires_grad
    assert new.grad_fn is None
    assert old.grad_fn is None
    assert new.data_ptr() == old.data_ptr()
