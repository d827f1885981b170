"""A script that compiles its model trains the same model, with the same graphs, under the doctor."""

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters
from torch.utils.data import DataLoader

from tests.helpers import plants

# dynamo reads the gradient of every input, also of activations
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
CROSS_ENTROPY = nn.CrossEntropyLoss()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 4)
        self.activate = torch.relu

    def forward(self, x):
        return self.last(self.activate(self.first(x)))


def compiled(function):
    return torch.compile(function, fullgraph=True, backend="eager")


def compiled_module(model):
    wrapper = compiled(model)
    return lambda x, y: CROSS_ENTROPY(wrapper(x), y)


def compiled_in_place(model):
    model.compile(fullgraph=True, backend="eager")
    return lambda x, y: CROSS_ENTROPY(model(x), y)


def compiled_forward(model):
    model.forward = compiled(model.forward)
    return lambda x, y: CROSS_ENTROPY(model(x), y)


def compiled_loss(model):
    return compiled(lambda x, y: CROSS_ENTROPY(model(x), y))


def compiled_function_in_forward(model):
    model.activate = compiled(lambda x: torch.relu(x) * 2)
    return lambda x, y: CROSS_ENTROPY(model(x), y)


def compiled_function_that_calls_a_module(model):
    model.inner = nn.Linear(8, 8)
    model.activate = compiled(lambda x: torch.relu(model.inner(x)))
    return lambda x, y: CROSS_ENTROPY(model(x), y)


EVERY = [
    *(compiled_module, compiled_in_place, compiled_forward, compiled_loss),
    *(compiled_function_in_forward, compiled_function_that_calls_a_module),
]


def train(make_loss):
    """Returns the losses of all steps, and the numbers of graphs and of graph breaks."""
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    model = Model()
    loss_of, losses = make_loss(model), []
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    samples = [(torch.randn(8), number % 4) for number in range(80)]
    for x, y in DataLoader(samples, 2):
        loss = loss_of(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())


@pytest.mark.parametrize("make_loss", EVERY)
def test_a_compiled_model_has_the_same_losses_and_graphs_with_the_doctor(make_loss):
    alone = train(make_loss)
    with plants.watched(cached_batches=0) as session:
        watched = train(make_loss)
    assert session.watch.failed == ""
    assert session.watch.phase == "done"
    assert watched == alone
    assert alone[1:] == (1, 0)


@pytest.mark.parametrize("make_loss", EVERY)
def test_steps_with_layers_and_memory_train_a_compiled_model_alike(make_loss):
    losses = train(make_loss)[0]
    with plants.watched(cached_batches=0, layers=1, memory=2) as session:
        watched = train(make_loss)[0]
    assert session.watch.failed == ""
    assert session.watch.phase == "done"
    assert watched == pytest.approx(losses)
