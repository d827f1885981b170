"""Changes that --apply makes to the script's DataLoader, and the doctor in a Lightning Trainer."""

import json
from types import SimpleNamespace
from unittest import mock

import pytest
import torch
import tundish
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision.transforms import v2
from tundish.diagnosis.cli.doctor_verb import main
from tundish.diagnosis.probe.applied import loader_change as applied_module
from tundish.diagnosis.probe.applied.loader_change import Applied
from tundish.diagnosis.probe.facts import AppliedFacts
from tundish.diagnosis.probe.loaders.engine_rate import engine_rate
from tundish.diagnosis.probe.loaders.loader_facts import loader_facts
from tundish.diagnosis.probe.settings import Settings, from_variable, to_variable
from tundish.diagnosis.verdict.plan_prediction import add_plan
from tundish.diagnosis.verdict.verdict import judge

from tests.diagnosis.test_doctor_verb import WATCHED
from tests.helpers import plants, torch_sets
from tests.helpers.warm_python import FRAMEWORKS, TORCHVISION, run_warm, server
from tests.helpers.written_facts import facts, step
from tests.tuning import test_frameworks as frameworks

SAMPLES = "tests.helpers.plants.Samples"
FOLDER = "torchvision.datasets.folder.ImageFolder"


def iterated(loader, apply, apply_to):
    """Returns the recorded outcome of the change and the class of the iterator."""
    with plants.watched(apply=apply, apply_to=apply_to) as session:
        iterator = iter(loader)
        next(iterator)
        kind = type(iterator).__name__
        del iterator
    return session.end().applied, kind


def test_workers_are_added_only_to_the_loader_of_the_named_dataset():
    loader = DataLoader(plants.Samples(), 4)
    found = iterated(loader, "workers=1", SAMPLES)
    assert found == (AppliedFacts(True, "num_workers=1"), "_MultiProcessingDataLoaderIter")
    applied, kind = iterated(DataLoader(plants.Samples(), 4), "workers=1", "another.Set")
    assert kind == "_SingleProcessDataLoaderIter"
    assert applied == AppliedFacts(False, "no DataLoader of this dataset was iterated")
    assert DataLoader.__iter__.__module__ == "torch.utils.data.dataloader"
    assert not hasattr(DataLoader.__iter__, "__wrapped__")


LOOPS = {
    "own lines": """
    for x, y in validation: model(x)
    for x, y in training: step(x, y)
    for x, y in validation: model(x)
""",
    "one function": """
    run_epoch(validation, lambda x, y: model(x))
    run_epoch(training, step)
    run_epoch(validation, lambda x, y: model(x))
""",
    "one loop": """
    for loader in (validation, training, validation):
        for x, y in loader: step(x, y) if loader is training else model(x)
""",
    "next": """
    iterator = iter(validation)
    model(next(iterator)[0])
    iterator = iter(training)
    for _ in range(len(training)):
        step(*next(iterator))
    model(next(iter(validation))[0])
""",
}
TWO_LOADERS = """
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
training, validation = (
    DataLoader(TensorDataset(torch.ones(n, 8), torch.zeros(n, dtype=torch.int64)), 4) for n in (80, 8)
)

def step(x, y):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()

def run_epoch(loader, work):
    for x, y in loader:
        work(x, y)

try:
    for epoch in range(40):
        EPOCH
    run_epoch(validation, lambda x, y: model(x))
finally:
    print("workers", training.num_workers, validation.num_workers)
"""


def with_loop(loop):
    return TWO_LOADERS.replace("EPOCH", LOOPS[loop].strip().replace("\n", "\n    "))


def test_a_script_gets_the_change_on_its_training_loader(tmp_path, capfd):
    script = tmp_path / "train.py"
    script.write_text(WATCHED + with_loop("own lines"))
    words = ["--no-cached-batches", "--no-layers", "--steps", "5", "--apply", "workers=1"]
    code = main([*words, "--", str(server(TORCHVISION) / "python"), str(script)])
    out, error = capfd.readouterr()
    assert code == 0, error
    assert out.splitlines() == ["workers 0 0", "workers 1 0"]
    assert "tried: " in error


@pytest.mark.parametrize("loop", LOOPS)
def test_only_the_training_loader_is_changed(loop, capsys):
    code = compile(with_loop(loop).replace("range(40)", "range(1)"), "/a/train.py", "exec")
    data = "torch.utils.data.dataset.TensorDataset"
    change = {}
    for _ in range(2):
        with plants.watched(cached_batches=0, **change) as session:
            exec(code, {})
        found = session.end()
        at = ",".join(found.origins)
        change = {"apply": "workers=1", "apply_to": data, "apply_at": at}
    assert capsys.readouterr().out.splitlines() == ["workers 0 0", "workers 1 0"]
    assert found.applied == AppliedFacts(True, "num_workers=1")


def test_settings_reach_the_script_for_any_characters_in_a_path():
    settings = Settings(apply="plan=/a|b=c%7C/100%.json", apply_to="a.B", steps=7)
    assert from_variable(to_variable("/tmp/x|y%", settings)) == ("/tmp/x|y%", settings)


def test_the_message_describes_the_training_loader(tmp_path):
    """The engine supports the transforms of the validation loader, not of the training loader."""
    steps = v2.Compose([v2.ToImage(), v2.Resize((8, 8)), v2.Lambda(lambda x: x.float())])
    photos = torch_sets.write_folder(tmp_path, 12)
    training = DataLoader(datasets.ImageFolder(photos, steps), 1)
    validation = DataLoader(torch_sets.image_folder(photos), 1)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def epoch():
        list(validation)
        for x, _ in training:
            model(x).sum().backward()
            optimizer.step()
        list(validation)

    change = {}
    for _ in range(2):
        with plants.watched(**change) as session:
            epoch()
        found = session.end()
        at = ",".join(found.origins)
        change = {"apply": "accelerate", "apply_to": FOLDER, "apply_at": at}
    assert at
    assert not found.applied.done
    assert "kept" in found.applied.text
    assert "_tundish_accelerated" not in vars(validation)


def test_indistinguishable_loaders_must_all_support_the_change():
    class Loader(SimpleNamespace):
        def __iter__(self):
            return iter(())

    applied = Applied("accelerate", "builtins.NoneType")
    iterate = applied.iterate(iter)
    reports = [SimpleNamespace(native=one) for one in (True, False, True)]
    with mock.patch.object(applied_module, "_accelerate") as accelerate:
        for number, report in enumerate(reports):
            accelerate.return_value = mock.MagicMock(report=report)
            iterate(Loader())
            assert applied.done is (number == 0)


def test_the_engine_replaces_a_supported_dataset(tmp_path):
    data = torch_sets.image_folder(torch_sets.write_folder(tmp_path, 12))
    loader = DataLoader(data, 4)
    plain = [images for images, _ in loader]
    with plants.watched(apply="accelerate", apply_to=FOLDER) as session:
        epochs = [[images for images, _ in loader] for _ in range(2)]
    applied = session.end().applied
    assert applied.done
    assert "the engine makes the batches" in applied.text
    for batches in epochs:
        assert all(torch.allclose(a, b, atol=0.1) for a, b in zip(batches, plain, strict=True))
    assert type(iter(loader)).__name__ == "_SingleProcessDataLoaderIter"  # as before


ENGINE_SCRIPT = """
import sys
import torch
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision.transforms import v2

steps = [v2.RandomCrop(8), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
loader = DataLoader(datasets.ImageFolder(sys.argv[1], v2.Compose(steps)), 2)
model = torch.nn.Conv2d(3, 1, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for epoch in range(40):
    for x, y in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
"""


def test_the_engine_replaces_the_loader_of_a_script(tmp_path, capfd):
    """In a script, the watch is imported under a name of its own, and its hooks under this name."""
    script, photos = tmp_path / "train.py", torch_sets.write_folder(tmp_path / "photos", 12)
    script.write_text(WATCHED + ENGINE_SCRIPT)
    words = ["--no-cached-batches", "--no-layers", "--steps", "5", "--apply", "accelerate"]
    code = main([*words, "--", str(server(TORCHVISION) / "python"), str(script), str(photos)])
    error = capfd.readouterr().err
    assert code == 0, error
    assert "the engine makes the batches" in error
    assert "kept" not in error


def test_an_unsupported_dataset_is_kept_and_the_reason_is_reported(tmp_path):
    steps = v2.Compose([v2.ToImage(), v2.Lambda(lambda x: x.float())])
    data = datasets.ImageFolder(torch_sets.write_folder(tmp_path, 12), steps)
    applied, _ = iterated(DataLoader(data, 1), "accelerate", FOLDER)
    assert not applied.done
    assert "kept" in applied.text


def test_timing_the_engine_on_a_supported_dataset_keeps_the_random_state(tmp_path):
    data = torch_sets.image_folder(torch_sets.write_folder(tmp_path, 12), torch_sets.RANDOM)
    own = torch.Generator().manual_seed(5)
    loader = DataLoader(data, 4, shuffle=True, generator=own)
    states = [torch.get_rng_state(), own.get_state()]
    found = engine_rate(loader, 0.1)
    assert found.native
    assert found.batch_s > 0
    assert all(torch.equal(*pair) for pair in zip(states, [torch.get_rng_state(), own.get_state()]))
    unknown = engine_rate(DataLoader(plants.Samples(), 4), 0.1)
    assert not unknown.native
    assert unknown.batch_s is None


def test_the_dataset_of_a_tundish_loader_is_not_accessed():
    """tundish.Loader.dataset reopens the file, which may no longer exist."""

    class Loader:
        @property
        def dataset(self):
            raise AssertionError

    assert loader_facts(Loader()).class_name == "Loader"


def test_automatic_threads_of_a_tundish_loader_are_recognized(tmp_path):
    tundish.pack(str(torch_sets.write_folder(tmp_path / "photos", 4)), str(tmp_path / "a.tnd"))
    for threads in ("auto", 1):
        with tundish.Loader(tmp_path / "a.tnd", 2, threads=threads) as loader:
            assert loader_facts(loader).auto_threads is (threads == "auto")


def test_a_plan_is_applied_to_the_scripts_model(tmp_path):
    model, optimizer = frameworks.make()
    plan = frameworks.plan_of("bf16", "channels_last", "fused_optimizer", "cuda_graph")
    plan.save(tmp_path / "plan.json")
    kinds = []
    with plants.watched(apply=f"plan={tmp_path / 'plan.json'}") as session:
        for _ in range(4):
            output = model(torch.randn(2, 3, 12, 12))
            kinds.append((frameworks.is_channels_last(model), str(output.dtype)))
            torch.nn.functional.cross_entropy(output, torch.zeros(2, dtype=torch.int64)).backward()
            optimizer.step()
            optimizer.zero_grad()
    applied = session.end().applied
    assert applied.done, applied
    first, second = applied.text.splitlines()[:2]
    assert first == "applied: channels_last, fused optimizer, bf16 autocast"
    assert second.startswith("left out: CUDA graph of the step: needs")
    assert kinds == [(False, "torch.float32")] * 2 + [(True, "torch.float32")] * 2
    assert optimizer.param_groups[0]["fused"]


def test_an_unreadable_plan_is_reported(tmp_path):
    (tmp_path / "plan.json").write_text("{}")
    model, optimizer = frameworks.make()
    with plants.watched(apply=f"plan={tmp_path / 'plan.json'}") as session:
        for _ in range(2):
            model(torch.randn(2, 3, 12, 12)).sum().backward()
            optimizer.step()
    applied = session.end().applied
    assert not applied.done
    assert "is not a plan" in applied.text


def test_a_plan_is_one_of_the_changes(tmp_path):
    plan = frameworks.plan_of("channels_last")
    plan.report.gains = {"baseline": {"gain": 2.0, "low": 1.9, "high": 2.1}}
    plan.save(tmp_path / "plan.json")
    verdict = judge(facts([step(data=0.010)] * 20))
    add_plan(verdict, plan, str(tmp_path / "plan.json"))
    change = next(one for one in verdict.changes if one.apply.startswith("plan="))
    assert change.what == "the plan plan.json: channels_last"
    assert change.predicted_s == pytest.approx(0.010 + 0.033 / 2)
    assert change.apply == f"plan={tmp_path / 'plan.json'}"


LIGHTNING = """
import json, warnings
warnings.simplefilter("ignore")
import torch
from lightning.pytorch import LightningModule, Trainer
from tundish.diagnosis.lightning_callback import DoctorCallback
from tests.helpers.plants import SlowStorage

class Module(LightningModule):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Linear(8, 4)
    def training_step(self, batch):
        return torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

torch.set_num_threads(1)
callback = DoctorCallback(steps=5, stop=True)
callback._doctor._settings.profiled = 3
trainer = Trainer(max_epochs=1, callbacks=[callback], logger=False, enable_checkpointing=False,
                  enable_progress_bar=False, enable_model_summary=False, accelerator="cpu")
trainer.fit(Module(), torch.utils.data.DataLoader(SlowStorage(), 2))
print(json.dumps(dict(callback.verdict.as_json(), steps=trainer.global_step)))
"""


def test_a_trainer_is_watched_and_stopped():
    done = run_warm("-c", LIGHTNING, imports=FRAMEWORKS)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["cause"]["name"] == "storage", done.stderr
    assert found["phase"] == "done"
    assert found["figures"]["ceiling_from"] == "cached"
    assert found["steps"] < 100
    assert found["sentence"] in done.stderr
