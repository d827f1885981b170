"""tundish.replace_data_parallel in one process, and on two ranks with Gloo."""

import copy
import io
import json
import warnings

import pytest
import torch
import tundish
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from tundish.launch import data_parallel
from tundish.launch.state_keys import plain_key

from tests.helpers.launched import launch

HOW = "start the script with: tundish run train.py"


@pytest.fixture(autouse=True)
def _said(monkeypatch):
    """Resets the messages, which appear once per process, for each test."""
    monkeypatch.setattr(data_parallel, "_shown_warnings", set())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def net():
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.BatchNorm1d(8), nn.Linear(8, 2)
    )


def wrapped(model):
    """Wraps a model in DataParallel, which stores no devices on a machine without GPUs."""
    return nn.DataParallel(model)


def replaced(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tundish.replace_data_parallel(model, **options)


def has_data_parallel(model):
    return any(isinstance(one, nn.DataParallel) for one in model.modules())


def test_one_process_gets_the_plain_model_and_a_launch_hint():
    inner = net()
    with pytest.warns(UserWarning, match=HOW) as said:
        model = tundish.replace_data_parallel(wrapped(inner))
    assert model is inner
    assert model.module is model
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the message appears only once
        tundish.replace_data_parallel(wrapped(net()))


def test_the_module_attribute_is_not_a_submodule():
    model = replaced(wrapped(net()))
    assert len(list(model.modules())) == len(list(net().modules()))
    assert list(model.state_dict()) == list(net().state_dict())
    again = copy.deepcopy(model)
    assert again.module is again
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert loaded.module is loaded
    loaded.load_state_dict(wrapped(net()).state_dict())


def test_wrappers_inside_a_model_are_found_also_twice_around_one_part():
    model = net()
    shared = model[0]
    model[0] = wrapped(wrapped(shared))
    model.again = wrapped(nn.Sequential(wrapped(shared)))
    plain = replaced(model)
    assert plain is model
    assert not has_data_parallel(plain)
    assert plain[0] is shared
    assert plain.again[0] is shared


def test_a_model_without_a_wrapper_is_taken_too():
    model = net()
    assert replaced(model) is model


def forms():
    """The same weights as checkpoints of all kinds, by name."""
    part = net()
    part[0] = wrapped(part[0])
    both = net()
    both[0] = wrapped(both[0])
    return {
        "plain": net().state_dict(),
        "whole": wrapped(net()).state_dict(),
        "part": part.state_dict(),
        "whole and part": wrapped(both).state_dict(),
    }


@pytest.mark.parametrize("form", ["plain", "whole", "part", "whole and part"])
def test_checkpoints_of_every_form_load_into_one_process(form):
    model = net()
    model[0] = wrapped(model[0])
    plain = replaced(wrapped(model))
    with torch.no_grad():
        for one in plain.parameters():
            one.zero_()
    state = forms()[form]
    before = list(state)
    plain.load_state_dict(state)
    assert list(state) == before
    for name, value in net().state_dict().items():
        assert torch.equal(plain.state_dict()[name], value)


def test_unexpected_keys_are_still_reported():
    model = replaced(wrapped(net()))
    state = {**net().state_dict(), "module.9.weight": torch.zeros(1)}
    with pytest.raises(RuntimeError, match=r"Unexpected key.*module\.9\.weight"):
        model.load_state_dict(state)
    del state["module.9.weight"], state["2.bias"]
    with pytest.raises(RuntimeError, match=r"Missing key.*2\.bias"):
        model.load_state_dict(state)


def test_a_part_that_is_really_called_module_keeps_its_keys():
    known = {"module.fc.weight", "fc.bias"}
    assert plain_key("module.fc.weight", known, []) == "module.fc.weight"
    assert plain_key("module.module.fc.weight", known, []) == "module.fc.weight"
    assert plain_key("module.fc.bias", known, []) == "fc.bias"
    assert plain_key("fc.weight", known, []) is None
    model = nn.Sequential()
    model.add_module("module", nn.Linear(2, 2))
    plain = replaced(wrapped(model))
    assert plain.module is model._modules["module"]
    plain.load_state_dict({"module.weight": torch.ones(2, 2), "module.bias": torch.ones(2)})
    plain.load_state_dict(wrapped(model).state_dict())
    assert plain.module.weight.sum() == 4


class Scaled(nn.Module):
    """Has a parameter and a child called "module" with a parameter of the same name and shape."""

    def __init__(self, scale):
        super().__init__()
        self.weight = nn.Parameter(torch.full((2, 2), scale))
        self.module = nn.Linear(2, 2, bias=False)
        nn.init.constant_(self.module.weight, 10 * scale)


def of_scaled(form):
    """Returns a model that uses one part twice, wrapped as `form` says."""
    part = Scaled(1.0)
    shared = nn.Sequential(wrapped(part) if "inside" in form else part)
    model = nn.Sequential(shared, shared, wrapped(Scaled(3.0)))
    return wrapped(model) if "whole" in form else model


@pytest.mark.parametrize("form", ["part", "inside", "whole", "whole, inside"])
def test_keys_of_wrappers_and_of_children_called_module_are_told_apart(form):
    model = of_scaled(form)
    state = {key: value.clone() for key, value in model.state_dict().items()}
    plain = replaced(model)
    values = {key: value.clone() for key, value in plain.state_dict().items()}
    with torch.no_grad():
        for one in plain.parameters():
            one.zero_()
    plain.load_state_dict(state)
    assert plain[2].weight[0, 0] == 3
    assert plain[2].module.weight[0, 0] == 30
    for key, value in values.items():
        assert torch.equal(plain.state_dict()[key], value), key


def test_a_part_of_a_larger_model_loads_its_keys():
    larger = nn.ModuleDict({"net": replaced(wrapped(net()))})
    larger.load_state_dict(
        {f"net.module.{key}": value for key, value in net().state_dict().items()}
    )
    assert next(iter(larger.state_dict())) == "net.0.0.weight"


def test_attributes_of_a_wrapper_are_not_lost_silently():
    class Mine(nn.DataParallel):
        pass

    replaced(net())  # the message has appeared
    with pytest.warns(UserWarning, match="removed Mine, your subclass"):
        tundish.replace_data_parallel(Mine(net()))
    hooked = wrapped(net())
    hooked.register_forward_hook(lambda *_: None)
    with pytest.warns(UserWarning, match="removed hooks together with a DataParallel"):
        tundish.replace_data_parallel(hooked)


def test_invalid_calls_are_refused_with_a_fix(monkeypatch):
    with pytest.raises(tundish.ArgumentError, match="not Adam"):
        tundish.replace_data_parallel(torch.optim.Adam(net().parameters()))
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(tundish.ArgumentError, match=r"WORLD_SIZE.*not.*\n  fix: .*tundish run"):
        tundish.replace_data_parallel(net())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch, on import
def test_a_compiled_wrapper_is_refused():
    compiled = nn.Sequential(torch.compile(wrapped(net())))
    with pytest.raises(tundish.ArgumentError, match=r"fix: .*before torch\.compile"):
        tundish.replace_data_parallel(compiled)


def test_more_ranks_than_gpus_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(tundish.ArgumentError, match=r"LOCAL_RANK is 2.*\n  fix: .*--ranks 2"):
        data_parallel._rank_device()


TWO_RANKS = """
import json, warnings
import torch, tundish
from torch import distributed, nn

def net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).double()

inner = net()
inner[0] = nn.DataParallel(inner[0])
old = nn.DataParallel(inner)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    model = tundish.replace_data_parallel(old)
    frozen = tundish.replace_data_parallel(nn.DataParallel(net().requires_grad_(False)))
    tundish.replace_data_parallel(nn.DataParallel(net()))
facts = {
    "kind": type(model).__name__,
    "backend": distributed.get_backend(),
    "bucket view": model.gradient_as_bucket_view,
    "said": [str(one.message) for one in said],
    "frozen": type(frozen).__name__,
    "keys": list(model.state_dict()),
}
torch.manual_seed(5)
images, targets = torch.randn(8, 4, dtype=torch.float64), torch.randn(8, 2, dtype=torch.float64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    mine = slice(RANK * 4, RANK * 4 + 4)  # the global batch is the batch of one process
    optimizer.zero_grad()
    nn.functional.mse_loss(model(images[mine]), targets[mine]).backward()
    optimizer.step()
torch.save(model.state_dict(), HERE / f"trained{RANK}.pt")
part = net()
part[0] = nn.DataParallel(part[0])
zeros = {}
for name, state in {
    "plain": net().state_dict(),
    "whole": nn.DataParallel(net()).state_dict(),
    "part": part.state_dict(),
}.items():
    for target in (model, model.module):
        with torch.no_grad():
            [one.zero_() for one in model.parameters()]
        target.load_state_dict(state)
        same = all(torch.equal(a, b) for a, b in zip(model.parameters(), net().parameters()))
        zeros[f"{name} into {type(target).__name__}"] = same
facts["loaded"] = zeros
try:
    tundish.replace_data_parallel(model)
except tundish.ArgumentError as error:
    facts["again"] = str(error)
note(f"facts{RANK}", json.dumps(facts))
distributed.destroy_process_group()
"""


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two_ranks")
    done = launch(folder, TWO_RANKS)
    assert done.returncode == 0, done.stderr
    return folder, [json.loads((folder / f"facts{rank}").read_text()) for rank in (0, 1)]


def test_ranks_get_a_distributed_model(two_ranks):
    _, facts = two_ranks
    for one in facts:
        assert one["kind"] == DistributedDataParallel.__name__
        assert one["backend"] == "gloo"
        assert one["bucket view"] is True
        assert one["frozen"] == "Sequential"
        assert "already" in one["again"]
        assert one["keys"] == [
            "module.0.weight",
            "module.0.bias",
            "module.2.weight",
            "module.2.bias",
        ]
        assert set(one["loaded"].values()) == {True}
        assert len(one["loaded"]) == 6


def test_the_first_rank_reports_the_changed_batch_size_once(two_ranks):
    _, (first, second) = two_ranks
    about_batches = [
        text for text in first["said"] if "one step has 2 x batch_size samples" in text
    ]
    assert len(about_batches) == 1
    assert "fix: for the same step as before, divide batch_size by 2" in about_batches[0]
    assert not [text for text in second["said"] if "batch_size" in text]


def test_two_ranks_train_as_one_process_on_the_whole_batch(two_ranks):
    folder, _ = two_ranks
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).double()
    torch.manual_seed(5)
    images, targets = torch.randn(8, 4, dtype=torch.float64), torch.randn(8, 2, dtype=torch.float64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(images), targets).backward()
        optimizer.step()
    for rank in (0, 1):
        old_code = nn.DataParallel(copy.deepcopy(model))
        old_code.load_state_dict(torch.load(folder / f"trained{rank}.pt"))
        for a, b in zip(old_code.parameters(), model.parameters()):
            torch.testing.assert_close(a, b)
