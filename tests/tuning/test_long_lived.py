"""Tensors that live too long are reported with the line that created them."""

import os
from collections import deque

import pytest
import torch
from torch import nn
from tundish.tuning.job import Job
from tundish.tuning.memory.long_lived import find_long_lived
from tundish.tuning.memory.training_tensors import find_owners, owned_tensors

from tests.tuning.models import image_job

HERE = os.path.abspath(__file__)


def line_with(mark):
    with open(HERE) as file:
        found = [i for i, text in enumerate(file, 1) if text.rstrip().endswith(f"# {mark}")]
    assert len(found) == 1
    return found[0]


class Net(nn.Module):
    def __init__(self, keep=None):
        super().__init__()
        self.first, self.last = nn.Linear(20, 50), nn.Linear(50, 10)
        self.keep = keep

    def forward(self, x):
        x = torch.relu(self.first(x))  # hidden
        if self.keep is not None:
            self.keep(x)
        return self.last(x)


def job_of(model):
    torch.manual_seed(0)
    batch = (torch.randn(8, 20), torch.randint(10, (8,)))
    optimizer = torch.optim.Adam(model.parameters())
    return Job(model, optimizer, nn.CrossEntropyLoss(), [batch])


def places(found):
    return [(one.reason, one.file, one.line) for one in found]


def test_a_list_that_collects_outputs_grows():
    outputs = []
    found = find_long_lived(job_of(Net(outputs.append)))
    assert places(found) == [("grows", HERE, line_with("hidden"))]
    assert (found[0].count, found[0].bytes) == (4, 4 * 8 * 50 * 4)
    assert found[0].bytes_per_step == 8 * 50 * 4
    assert found[0].holds_graph
    assert "holds its graph" in str(found[0])
    assert found[0].text.startswith("x = torch.relu")


def test_a_loop_that_collects_losses_grows():
    job = job_of(Net())
    losses = []

    def train(batch):
        inputs, targets = batch
        job.optimizer.zero_grad()
        loss = job.loss_fn(job.model(inputs), targets)  # loss
        loss.backward()
        job.optimizer.step()
        losses.append(loss)

    found = find_long_lived(train, job.batches[0])
    assert places(found)[0] == ("grows", HERE, line_with("loss"))
    assert found[0].holds_graph


def test_losses_without_a_backward_pass_keep_every_activation():
    job = job_of(Net())
    losses = []

    def evaluate(batch):
        losses.append(job.loss_fn(job.model(batch[0]), batch[1]))  # no no_grad()

    found = {one.line: one for one in find_long_lived(evaluate, job.batches[0])}
    assert found[line_with("hidden")].reason == "grows"
    assert found[line_with("hidden")].bytes >= 4 * 8 * 50 * 4
    assert not find_long_lived(torch.no_grad()(evaluate), job.batches[0])[0].holds_graph


def test_a_detached_copy_holds_no_graph():
    outputs = []
    found = find_long_lived(job_of(Net(lambda x: outputs.append(x.detach().clone()))))
    assert [one.reason for one in found] == ["grows"]
    assert not found[0].holds_graph


def test_tensors_replaced_every_step_are_kept_not_growing():
    newest = deque(maxlen=2)
    found = find_long_lived(job_of(Net(newest.append)))
    assert places(found) == [("kept", HERE, line_with("hidden"))]
    assert found[0].count == 2


def test_tensors_created_once_are_not_reported():
    made = []
    net = Net(lambda x: made or made.append(torch.ones(100)))
    assert find_long_lived(job_of(net)) == []


class Wasteful(nn.Module):
    """Keeps a large tensor in a local variable while the forward pass needs memory."""

    def __init__(self, drop):
        super().__init__()
        self.layer, self.drop = nn.Linear(20, 20), drop

    def forward(self, x):
        large = self.layer(x).detach().repeat(1, 50)  # large
        mean = large.mean()
        if self.drop:
            del large
        for _ in range(3):
            x = torch.tanh(self.layer(x).repeat(1, 20)).reshape(20, -1, 20).mean(0)
        return x[:, :10] + mean


def test_a_tensor_that_idles_at_the_peak_is_named():
    found = find_long_lived(job_of(Wasteful(drop=False)))
    assert places(found) == [("idle", HERE, line_with("large"))]
    assert found[0].bytes == 8 * 20 * 50 * 4
    assert find_long_lived(job_of(Wasteful(drop=True))) == []


def test_a_plain_step_leaves_nothing_behind():
    for name in ("resnet", "vit"):
        found = find_long_lived(image_job(name, optimizer=torch.optim.AdamW), steps=2)
        assert [str(one) for one in found if one.reason != "idle"] == []


def test_an_optimizer_whose_constructor_failed_owns_nothing():
    failed = torch.optim.Adam.__new__(torch.optim.Adam)
    with pytest.raises(ValueError, match="learning rate"):
        failed.__init__([nn.Parameter(torch.ones(2))], lr=-1.0)
    assert list(owned_tensors([failed])) == []
    assert any(owner is failed for owner in find_owners())
    assert list(owned_tensors(find_owners()))
