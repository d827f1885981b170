"""Plans in Lightning's Trainer and in Accelerate: applied, undone, and omissions named."""

import copy
import json

import pytest
import torch
from tundish import ArgumentError
from tundish.tuning.fingerprint import fingerprint_of
from tundish.tuning.framework_plan import FrameworkPlan
from tundish.tuning.plan import Plan
from tundish.tuning.tricks import trick_from_json

from tests.helpers import tuning_reports as examples
from tests.helpers.warm_python import FRAMEWORKS, run_warm


def make():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 5),
    )
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def plan_of(*names):
    model, optimizer = make()
    made_for = fingerprint_of(model, optimizer, torch.zeros(4, 3, 12, 12))
    return Plan([trick_from_json({"name": n}) for n in names], made_for, examples.image_model())


def is_channels_last(model):
    return model[0].weight.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch's own compiler
def test_settings_on_the_objects_are_applied_and_undone():
    model, optimizer = make()
    settings = FrameworkPlan(
        plan_of("bf16", "channels_last", "fused_optimizer", "inplace", "compile")
    )
    assert settings.precision == "bf16"
    settings.apply(model, optimizer)
    assert settings.applied == [
        "in-place activations",
        "channels_last",
        "fused optimizer",
        "torch.compile",
    ]
    assert is_channels_last(model)
    assert optimizer.param_groups[0]["fused"] is True
    assert model[1].inplace
    assert model._compiled_call_impl is not None
    settings.undo()
    assert not is_channels_last(model)
    assert not optimizer.param_groups[0]["fused"]
    assert not model[1].inplace
    assert model._compiled_call_impl is None


def test_omitted_tricks_are_named_with_the_reason():
    settings = FrameworkPlan(plan_of("fp16", "cuda_graph", "tf32"))
    settings.apply(*make())
    assert settings.precision == "fp16"
    assert settings.applied == []
    assert settings.left_out == [
        "TF32: needs a GPU",
        "CUDA graph of the step: needs step = plan.apply(model, optimizer, loss_fn)",
    ]


def test_a_failing_trick_undoes_the_other_tricks(monkeypatch):
    model, optimizer = make()
    settings = FrameworkPlan(plan_of("channels_last", "fused_optimizer"))

    def fail(trick, step):
        raise RuntimeError("no")

    monkeypatch.setattr("tundish.tuning.tricks.FusedOptimizer.apply", fail)
    with pytest.raises(RuntimeError, match="no"):
        settings.apply(model, optimizer)
    assert not is_channels_last(model)


def test_layers_may_be_unfrozen_under_fused_kernels():
    """torch's fused SGD fails if some parameters have a momentum and others have none."""
    model, optimizer = make()
    model[0].requires_grad_(False)
    settings = FrameworkPlan(plan_of("fused_optimizer"))
    settings.apply(model, optimizer)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(4, 3, 12, 12)).square().mean().backward()
        optimizer.step()
        model.requires_grad_(True)
    assert optimizer.state[model[0].weight]["momentum_buffer"].any()
    settings.undo()
    assert not optimizer._optimizer_step_pre_hooks


def test_a_plan_for_another_job_is_refused():
    model, optimizer = make()
    settings = FrameworkPlan(plan_of("fused_optimizer"))
    with pytest.raises(ArgumentError, match="plan's optimizer was SGD, this one is AdamW"):
        settings.apply(model, torch.optim.AdamW(model.parameters()))
    other = torch.nn.Linear(3, 3)
    with pytest.raises(ArgumentError, match="plan's model was Sequential with 269 parameters"):
        settings.apply(other, torch.optim.SGD(other.parameters(), lr=0.1))
    assert not optimizer.param_groups[0]["fused"]
    student = torch.nn.ModuleDict({"student": model, "teacher": copy.deepcopy(model)})
    settings.apply(student, optimizer)  # the plan's model, with an average of its weights
    with pytest.raises(ArgumentError, match="applied already"):
        settings.apply(*make())
    settings.undo()
    settings.apply(torch.compile(model, backend="eager"), optimizer)


LIGHTNING = """
import json, sys, warnings
warnings.simplefilter("ignore")
import torch
from {package} import LightningModule, Trainer, seed_everything
from tundish.tuning.lightning_callback import TunePlan
from tests.tuning.test_frameworks import make

class Module(LightningModule):
    def __init__(self):
        super().__init__()
        self.model = make()[0]
        self.seen = []
    def training_step(self, batch):
        weight = self.model[0].weight
        output = self.model(batch[0])
        self.seen.append([
            str(output.dtype),
            weight.is_contiguous(memory_format=torch.channels_last),
            bool(self.trainer.optimizers[0].param_groups[0]["fused"]),
        ])
        return torch.nn.functional.cross_entropy(output, batch[1])
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)

torch.set_num_threads(1)
torch.manual_seed(1)
loader = [(torch.randn(8, 3, 12, 12), torch.randint(0, 5, (8,))) for _ in range(5)]
module, callback = Module(), TunePlan(sys.argv[1])
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    trainer = Trainer(max_epochs=1, callbacks=[callback], logger=False, enable_checkpointing=False,
                      enable_progress_bar=False, enable_model_summary=False, accelerator="cpu")
    trainer.fit(module, torch.utils.data.DataLoader(loader, batch_size=None))
print(json.dumps(dict(
    seen=module.seen, applied=callback.applied, left_out=callback.left_out,
    said=[str(one.message) for one in said if "TunePlan" in str(one.message)],
    precision=str(trainer.strategy.precision_plugin.precision),
    fused=bool(trainer.optimizers and trainer.optimizers[0].param_groups[0]["fused"]),
    weights=[float(p.double().sum()) for p in module.model.parameters()],
)))
"""


@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
def test_a_trainer_trains_with_the_plan(package, tmp_path):
    plan = plan_of("bf16", "channels_last", "fused_optimizer", "cuda_graph")
    plan.save(tmp_path / "plan.json")
    code = LIGHTNING.replace("{package}", package)
    done = run_warm("-c", code, tmp_path / "plan.json", imports=FRAMEWORKS)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["seen"] == [["torch.bfloat16", True, True]] * 5
    assert found["applied"] == ["channels_last", "fused optimizer", "bf16-mixed"]
    assert found["left_out"] == [
        "CUDA graph of the step: needs step = plan.apply(model, optimizer, loss_fn)"
    ]
    assert len(found["said"]) == 1
    assert found["precision"] == "32-true"  # as before
    assert not found["fused"]
    plan.tricks = plan.tricks[:-1]
    assert found["weights"] == pytest.approx(weights_by_apply(plan), abs=1e-6)


def weights_by_apply(plan):
    """Returns the weights after the same five steps by plan.apply()."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    loader = [(torch.randn(8, 3, 12, 12), torch.randint(0, 5, (8,))) for _ in range(5)]
    model, optimizer = make()
    step = plan.apply(model, optimizer, torch.nn.CrossEntropyLoss())
    for batch in loader:
        step(batch)
    torch.set_num_threads(before)
    return [float(p.detach().double().sum()) for p in model.parameters()]


class FakeTrainer:
    """Has the attributes of a Trainer that TunePlan uses."""

    def __init__(self, optimizers, precision="32-true", accumulate=1):
        self.optimizers, self.accumulate_grad_batches = optimizers, accumulate
        plugin = type("Plugin", (), {"precision": precision})()
        device = torch.device("cpu")
        self.strategy = type("Strategy", (), {"precision_plugin": plugin, "root_device": device})()


def test_a_precision_of_the_trainer_is_kept():
    from tundish.tuning.lightning_callback import TunePlan

    model, optimizer = make()
    callback = TunePlan(plan_of("bf16", "channels_last"))
    trainer = FakeTrainer([optimizer], precision="16-mixed")
    callback.setup(trainer, model, "validate")
    assert callback.left_out == []
    callback.setup(trainer, model, "fit")
    with pytest.warns(RuntimeWarning, match="bf16-mixed: the Trainer was made with precision="):
        callback.on_train_start(trainer, model)
    assert trainer.strategy.precision_plugin.precision == "16-mixed"
    assert is_channels_last(model)
    callback.on_exception(trainer, model, KeyboardInterrupt())
    assert not is_channels_last(model)


def test_several_optimizers_are_left_alone():
    from tundish.tuning.lightning_callback import TunePlan

    model, optimizer = make()
    callback = TunePlan(plan_of("channels_last"))
    trainer = FakeTrainer([optimizer, optimizer])
    callback.setup(trainer, model, "fit")
    with pytest.warns(RuntimeWarning, match="the module has 2 optimizers"):
        callback.on_train_start(trainer, model)
    assert not is_channels_last(model)


def test_accumulation_is_left_to_the_trainer():
    from tundish.tuning.lightning_callback import TunePlan

    model, optimizer = make()
    callback = TunePlan(plan_of("channels_last"))
    callback._settings.accumulate = 4
    trainer = FakeTrainer([optimizer])
    callback.setup(trainer, model, "fit")
    assert "Trainer(accumulate_grad_batches=4) with batches of 1/4" in callback.left_out[0]
    callback.setup(FakeTrainer([optimizer], accumulate=4), model, "fit")
    assert callback.left_out == []


def test_the_parts_of_a_lightning_module_are_compiled(monkeypatch):
    """The training step calls the parts; a module without a forward pass is never called itself."""
    module = torch.nn.Module()
    module.training_step = None
    module.model, module.heads = make()[0], torch.nn.ModuleList([torch.nn.Linear(2, 2)])
    module.loss = torch.nn.CrossEntropyLoss()
    monkeypatch.setattr(torch, "compile", lambda run, **options: run)
    FrameworkPlan(plan_of("compile")).apply(module, make()[1])
    compiled = [part for part in module.modules() if part._compiled_call_impl is not None]
    assert compiled == [module.model, module.heads[0]]


def test_a_model_of_torchs_own_class_is_compiled(monkeypatch):
    graphs, compiler = [], torch.compile

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    monkeypatch.setattr(torch, "compile", lambda run, **options: compiler(run, backend=backend))
    model, optimizer = make()  # a Sequential
    FrameworkPlan(plan_of("compile")).apply(model, optimizer)
    model(torch.rand(2, 3, 12, 12))
    assert len(graphs) == 1


def test_callbacks_report_a_missing_lightning(run_python):
    """Both modules can be imported without Lightning, so that help() works."""
    code = """
import sys
sys.modules.update(dict.fromkeys(["lightning", "pytorch_lightning"]))  # not installed
from tundish.diagnosis.lightning_callback import DoctorCallback
from tundish.tuning.lightning_callback import TunePlan
for make in (DoctorCallback, lambda: TunePlan("plan.json")):
    try:
        make()
    except ValueError as error:
        print(error)
"""
    text = run_python(code).stdout
    assert "DoctorCallback is a callback of Lightning\n  fix: pip install lightning" in text
    assert "TunePlan is a callback of Lightning\n  fix: pip install lightning" in text
