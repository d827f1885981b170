"""The model of a script: full names, reaching definitions, values, training loops."""

import ast

import pytest
from tundish.diagnosis.script import Script
from tundish.diagnosis.script.source_text import read_source
from tundish.diagnosis.script.values import backward_losses


def script_of(text):
    return Script(read_source("train.py", text.encode()))


@pytest.mark.parametrize(
    ("head", "used"),
    [
        ("import torch.nn as nn", "nn.Linear"),
        ("import torch.nn", "torch.nn.Linear"),
        ("from torch import nn", "nn.Linear"),
        ("from torch import nn as layers", "layers.Linear"),
        ("from torch.nn import Linear", "Linear"),
        ("from torch.nn import Linear as L", "L"),
    ],
)
def test_imported_names_are_resolved(head, used):
    script = script_of(f"{head}\nx = {used}(8, 8)\n")
    assert [call.lineno for call in script.calls("torch.nn.Linear")] == [2]


def test_a_local_variable_hides_an_import():
    script = script_of("import torch\ndef f(torch):\n    torch.nn.Linear(1, 2)\n")
    assert list(script.calls("torch.nn.Linear")) == []


def values(text):
    """Returns kind and device of the last expression, which is a separate statement."""
    script = script_of(text)
    last = script.nodes(ast.Expr)[-1].value
    found = script.values.infer(last)
    return found.kind, found.device


HEAD = "import torch, numpy as np\nfrom torch import nn\n"


@pytest.mark.parametrize(
    ("text", "kind", "device"),
    [
        ("x = torch.ones(3)\nx", "tensor", "cpu"),
        ("x = torch.ones(3).cuda()\nx", "tensor", "gpu"),
        ("x = torch.ones(3, device='cuda')\nx + 1", "tensor", "gpu"),
        ("x = torch.ones(3).cuda()\nx = x.cpu()\nx", "tensor", "cpu"),
        ("x = torch.ones(3).cuda()\nx = x.item()\nx", "number", ""),
        ("x = torch.ones(3).cuda()\nif a:\n    x = 3\nx", "", ""),
        ("x = torch.ones(3).cuda()\nx.shape", "other", ""),
        ("x = torch.ones(3).cuda()\nx.numpy()", "array", ""),
        ("m = nn.Linear(1, 2).cuda()\nm(3)", "tensor", "gpu"),
        ("m = nn.Linear(1, 2)\nm(3)", "tensor", "cpu"),
        ("from own import Net\nx = Net().cuda()\nx", "", ""),
        ("from own import Net\nmodel = Net().cuda()\nmodel", "model", "gpu"),
        ("from own import load\nnet2 = load\nnet2 = net2.cuda()\nnet2(3)", "tensor", "gpu"),
        ("x = state.cuda()\nx", "tensor", "gpu"),
        ("policy = policy.cuda()\npolicy.parameters()\npolicy", "model", "gpu"),
        ("generator = torch.Generator()\ngenerator", "", ""),
        ("import argparse\nopt = argparse.ArgumentParser()\nopt", "", ""),
        ("import json\nencoder = json.JSONEncoder()\nencoder", "", ""),
        ("from transformers import pipeline\ngenerator = pipeline('a')\ngenerator", "", ""),
        ("criterion = own()\nloss, rate = criterion(x.cuda())\nrate", "", ""),
        (
            "criterion = own()\nloss, rate = criterion(x.cuda())\nloss.backward()\nloss",
            "tensor",
            "gpu",
        ),
        ("class Net(nn.Module):\n    pass\nnet = Net()\nnet", "model", "cpu"),
        ("class Base(nn.Module):\n    pass\nclass Net(Base):\n    pass\nNet()", "model", "cpu"),
        ("o = torch.optim.SGD(p, lr=1)\no", "optimizer", ""),
        ("s = torch.optim.lr_scheduler.StepLR(o, 1)\ns", "other", ""),
        ("a, b = torch.ones(3), np.ones(3)\nb", "array", ""),
        ("def f(t):\n    t\nf(torch.ones(3).cuda())\n'end'", "other", ""),
        ("own.train_loader", "loader", ""),
        ("prepare_model", "", ""),
    ],
)
def test_values_are_followed(text, kind, device):
    assert values(HEAD + text) == (kind, device)


def training_lines(text):
    script = script_of(HEAD + text)
    return sorted(loop.lineno - 2 for loop in script.loops.training)


def test_training_loops_are_those_around_backward_and_step():
    text = """for epoch in range(3):
    for x in loader:
        loss = model(x)
        loss.backward()
    for x in val_loader:
        model(x)
for x in loader:
    for part in x:
        model(part).backward()
    optimizer.step()
for x in xs:
    scheduler.step()
"""
    assert training_lines(text) == [2, 7, 8]


def test_only_what_runs_in_every_step_counts():
    text = """for step, x in enumerate(loader):
    loss = model(x)
    loss.backward()
    a(1)
    if step % 9 == 0:
        b(1)
    if rank == 0:
        c(1)
    try:
        d(1)
    except OSError:
        e(1)
    if step > 3:
        continue
    f(1)
"""
    script = script_of(HEAD + text)
    often = {
        call.func.id
        for call in script.nodes(ast.Call)
        if isinstance(call.func, ast.Name) and script.loops.each_step(call)
    }
    assert often == {"model", "a", "c", "d"}


def test_distributed_autograd_gets_a_context_and_a_list_of_losses():
    script = script_of(
        "import torch.distributed.autograd as dist_autograd\n"
        "for x in loader:\n"
        "    with dist_autograd.context() as context:\n"
        "        value = model(x.cuda())\n"
        "        dist_autograd.backward(context, [value])\n"
    )
    (call,) = script.methods("backward")
    assert [ast.unparse(loss) for loss in backward_losses(call)] == ["value"]
