"""Common mistakes in a training step, and the fix that each message suggests."""

import pytest
import torch
from torch import nn
from tundish import ArgumentError
from tundish.tuning.job import Job
from tundish.tuning.search.batch_size import find_batch_size
from tundish.tuning.trials.known_failures import fix_of
from tundish.tuning.tune import baseline_error

LABELS = torch.arange(10)
IMAGES = torch.zeros(10, 3, 8, 8)
cross_entropy = nn.CrossEntropyLoss()


def message_of(loss_fn, inputs=None, targets=LABELS, model=None):
    """Returns the first line of the error of one step on the CPU."""
    model = nn.Linear(32, 10) if model is None else model
    inputs = torch.randn(10, 32) if inputs is None else inputs
    with pytest.raises(Exception) as error:
        loss_fn(model(inputs), *([] if targets is None else [targets])).backward()
    return str(error.value).strip().splitlines()[0]


MISTAKES = [
    ({"loss_fn": lambda out, y: out.argmax(1).float().mean()}, "the loss has no gradient"),
    ({"loss_fn": nn.CrossEntropyLoss(reduction="none")}, "must be a single number"),
    ({"loss_fn": lambda out, y: cross_entropy(out, y).item()}, "without .item()"),
    ({"loss_fn": lambda out, y: (cross_entropy(out, y), out)}, "return the loss alone"),
    ({"loss_fn": lambda out, y: None}, "end loss_fn with: return loss"),
    ({"loss_fn": cross_entropy, "targets": LABELS + 3}, "labels must be from 0"),
    ({"loss_fn": cross_entropy, "targets": LABELS.int()}, "targets.long()"),
    ({"loss_fn": cross_entropy, "targets": LABELS.float()}, "targets.long()"),
    ({"loss_fn": cross_entropy, "targets": LABELS[:, None]}, "targets.squeeze(1)"),
    ({"loss_fn": cross_entropy, "targets": LABELS[:8]}, "the same number of samples"),
    (
        {"loss_fn": nn.BCEWithLogitsLoss(), "targets": torch.ones(10, 10, dtype=torch.int64)},
        "targets.float()",
    ),
    (
        {
            "loss_fn": lambda out, y: nn.BCELoss()(out.sigmoid(), y),
            "targets": torch.ones(10, 10, dtype=torch.int64),
        },
        "targets.float()",
    ),
    ({"loss_fn": nn.BCEWithLogitsLoss(), "targets": torch.ones(10)}, "targets.view_as(outputs)"),
    ({"loss_fn": cross_entropy, "inputs": torch.randn(10, 32).double()}, "inputs.float()"),
    (
        {"loss_fn": cross_entropy, "inputs": IMAGES.byte(), "model": nn.Conv2d(3, 4, 3)},
        "inputs.float()",
    ),
    (
        {"loss_fn": cross_entropy, "inputs": torch.zeros(3), "model": nn.Embedding(5, 10)},
        "inputs.long()",
    ),
    (
        {"loss_fn": cross_entropy, "inputs": LABELS, "model": nn.Embedding(5, 10)},
        "not below its num_embeddings",
    ),
    (
        {"loss_fn": cross_entropy, "inputs": torch.randn(3, 10, 32), "model": nn.LSTM(32, 10)},
        "extract the tensor",
    ),
    ({"loss_fn": lambda out: out.sum()}, "loss_fn(model(batch[0]), *batch[1:])"),
    ({"loss_fn": cross_entropy, "targets": None}, "loss_fn(model(batch[0]), *batch[1:])"),
]


@pytest.mark.parametrize(("step", "fix"), MISTAKES, ids=[fix for _, fix in MISTAKES])
def test_every_known_mistake_has_a_specific_fix(step, fix):
    text = message_of(**step)
    lines = str(baseline_error(text, "error", {"details": "Traceback: ..."})).splitlines()
    assert lines[0] == f"your step fails without any trick: {text}"
    assert lines[1].startswith("  fix: ")
    assert fix in lines[1]
    assert lines[2] == "Traceback: ..."


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("CUDA error: device-side assert triggered", "most often a label: labels must be from 0"),
        (
            "\"nll_loss_forward_reduce_cuda_kernel_2d_index\" not implemented for 'Int'",
            "targets.long()",
        ),
        ("expected scalar type Long but found Float", "targets.long()"),  # before torch 2.12
    ],
)
def test_messages_of_gpus_and_older_torch_versions_are_recognized(text, fix):
    assert fix in fix_of(text)


def test_an_unknown_message_gets_general_advice():
    assert fix_of("mat1 and mat2 shapes cannot be multiplied (16x31 and 32x10)") == ""
    assert "run one step by hand" in str(baseline_error("no idea", "error", {}))


def test_find_batch_size_gives_the_same_fix():
    model = nn.Linear(32, 10)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    job = Job(model, optimizer, cross_entropy, [(torch.randn(10, 32), LABELS + 3)])
    with pytest.raises(ArgumentError, match=r"batch of 8 samples: Target.*\n  fix: labels must be"):
        find_batch_size(job, max_batch_size=16)
