"""Which files a patch changes, and what it does if a place is unknown or has changed."""

from dataclasses import replace

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from tundish.boosting.inject.survey import Survey, SurveyFacts
from tundish.boosting.patch import write_patch
from tundish.boosting.search.search import file_digest

from tests.boosting import patch_shapes as shapes
from tests.boosting.patch_runs import (
    apply_patch,
    git,
    patched_run,
    result_of,
    run_script,
    survey_script,
    write_files,
)

CHANGES = ["workers=0", "channels_last", "bf16", "fused"]


@pytest.fixture
def plain(tmp_path):
    """A script in a subfolder of a repository, its facts, and its globals."""
    script = write_files(tmp_path / "project", {"code/train.py": shapes.PLAIN})
    facts, values = survey_script(script)
    return script, facts, values


def test_paths_start_at_the_top_of_the_repository_from_any_folder(plain, monkeypatch):
    script, facts, _ = plain
    git(script.parents[1], "init", "-q")
    monkeypatch.chdir(script.parent)
    patch = write_patch(result_of(script, facts, CHANGES))
    assert "+++ b/code/train.py\n" in patch.text
    apply_patch(script.parents[1], patch)
    assert "fused=True" in script.read_text()


def test_without_a_repository_paths_start_at_the_current_folder(plain, monkeypatch):
    script, facts, _ = plain
    monkeypatch.chdir(script.parent)
    assert "+++ b/train.py\n" in write_patch(result_of(script, facts, CHANGES)).text


def test_a_file_outside_of_the_folder_goes_by_hand(plain, tmp_path):
    script, facts, _ = plain
    (tmp_path / "elsewhere").mkdir()
    patch = write_patch(result_of(script, facts, CHANGES), tmp_path / "elsewhere")
    assert [one.change for one in patch.by_hand] == ["workers", "channels_last", "bf16", "fused"]
    assert "diff --git" not in patch.text
    assert all("outside elsewhere" in one.reason for one in patch.by_hand)
    assert all(line in patch.text for one in patch.by_hand for line in one.comment())


def test_a_script_that_has_changed_since_goes_by_hand(plain):
    script, facts, _ = plain
    result = replace(result_of(script, facts, CHANGES), digest=file_digest(str(script)))
    assert write_patch(result, script.parent).by_hand == []
    script.write_text("\n" + script.read_text())
    patch = write_patch(result, script.parent)
    assert {one.reason for one in patch.by_hand} == {"the script has changed since the boost"}


def test_a_survey_without_places_goes_by_hand_in_the_script(plain):
    script, _, _ = plain
    facts = SurveyFacts()
    patch = write_patch(
        result_of(script, facts, ["accelerate", "workers=2", "tf32"]), script.parent
    )
    assert [one.change for one in patch.by_hand] == ["accelerate", "workers"]
    assert "+# tundish boost, by hand: acc" in patch.text
    assert "+torch.backends.cuda.matmul.allow_tf32 = True\n" in patch.text


def test_without_exact_positions_lines_find_the_calls(tmp_path):
    def like_python_3_10(facts):
        model, optimizer = facts.models[0], facts.optimizers[0]
        model.call_sites = [replace(site, end_line=0, end_column=0) for site in model.call_sites]
        model.made = replace(model.made, end_line=0, end_column=0)
        optimizer.made = replace(optimizer.made, end_line=0, end_column=0)
        facts.loader_made = replace(facts.loader_made, end_line=0, end_column=0)

    files = {"train.py": shapes.PLAIN}
    run = patched_run(tmp_path / "project", files, CHANGES, like_python_3_10)
    assert run.patch.by_hand == []
    assert "num_workers=0" in run.text
    assert "    out = out.float()" in run.text


def test_an_ambiguous_line_goes_by_hand_without_exact_positions(tmp_path):
    def like_python_3_10(facts):
        facts.loader_made = replace(facts.loader_made, end_line=0, end_column=0)

    two = shapes.PLAIN.replace("loader = D", "other, loader = DataLoader(data), D")
    run = patched_run(tmp_path / "project", {"t.py": two}, ["workers=2"], like_python_3_10)
    assert [one.reason for one in run.patch.by_hand] == ["line 20 has several calls"]


def test_an_ambiguous_loader_is_accelerated_below_its_assignment(tmp_path):
    def like_python_3_10(facts):
        facts.loader_made = replace(facts.loader_made, end_line=0, end_column=0)

    two = shapes.PLAIN.replace("loader = D", "other, loader = DataLoader(data), D")
    run = patched_run(
        tmp_path / "project", {"t.py": two}, ["accelerate=train.tnd"], like_python_3_10
    )
    assert run.patch.by_hand == []
    assert '+loader = tundish.accelerate(loader, pack="train.tnd")\n' in run.patch.text
    assert run.after["losses"] == run.before["losses"]


@pytest.mark.filterwarnings("ignore:.*pin_memory")
def test_two_keywords_of_unpacked_arguments(tmp_path):
    unpacked = shapes.PLAIN.replace(
        "DataLoader(data, batch", "DataLoader(**{'dataset': data}, batch"
    )
    run = patched_run(tmp_path / "project", {"t.py": unpacked}, ["workers=0", "pin_memory"])
    assert run.patch.by_hand == []
    assert '{**{**{\'dataset\': data}, "num_workers": 0}, "pin_memory": True}' in run.text


def test_loaders_that_accelerate_prepares_stay(tmp_path):
    files = {
        "train.py": shapes.PLAIN.replace("loader = DataLoader(data, batch_size=8)", "")
        .replace("import torch\n", "import torch\nfrom feeding import make\n", 1)
        .replace("for x, y in loader", "loader = prepare(make(data))\nfor x, y in loader")
        .replace("losses = []", "losses = []\ndef prepare(loader):\n    return loader\n"),
        "feeding.py": "from torch.utils.data import DataLoader\n\n\n"
        "def make(data):\n    return DataLoader(data, batch_size=8)\n",
    }

    def uses_accelerate(facts):
        facts.framework = "accelerate"

    run = patched_run(tmp_path / "project", files, ["accelerate"], uses_accelerate)
    assert [one.change for one in run.patch.by_hand] == ["accelerate"]
    assert "+++ b/feeding.py" in run.patch.text
    assert "+    # tundish boost, by hand: accelerate: prepare() of Accelerate" in run.patch.text


def test_a_loss_that_refuses_bfloat16_on_a_gpu_goes_by_hand(tmp_path):
    def on_a_gpu(facts):
        facts.device = "cuda"
        for model in facts.models:
            model.identity = replace(model.identity, device="cuda")

    text = shapes.PLAIN.replace("    out = model(x)\n", "").replace(
        "F.cross_entropy(out, y)", "nn.BCELoss()(model(x).softmax(1)[:, 0], (y > 1).float())"
    )
    run = patched_run(tmp_path / "project", {"t.py": text}, ["bf16"], on_a_gpu)
    assert run.patch.by_hand[0].reason == "the statement may compute a loss that refuses bfloat16"
    assert 'torch.autocast("cuda", dtype=torch.bfloat16)' in run.patch.text


def test_an_optimizer_of_a_library(tmp_path, monkeypatch):
    original = torch.compile
    monkeypatch.setattr(torch, "compile", lambda *a, **k: original(*a, backend="eager", **k))
    made = "from torch.optim import SGD\ndef make(net):\n    return SGD(net.parameters(), lr=0.1)\n"
    text = shapes.PLAIN.replace("torch.optim.SGD(model.parameters(), lr=0.1)", "make(model)")
    text = (
        "import sys; sys.path.insert(0, 'site-packages')\nfrom made_by_library_2 import make\n"
        + text
    )
    files = {"t.py": text, "site-packages/made_by_library_2.py": made}
    run = patched_run(tmp_path / "project", files, ["channels_last", "compile", "fused"])
    below = "+model.to(memory_format=torch.channels_last)\n+model.compile(dynamic=False)\n"
    assert f"model = Net()\n{below}" in run.patch.text
    assert [one.change for one in run.patch.by_hand] == ["fused"]
    assert run.after["losses"] == pytest.approx(run.before["losses"], rel=1e-4)


def test_the_patch_is_undone_byte_for_byte(plain, tmp_path):
    script, facts, _ = plain
    before = script.read_bytes()
    patch = write_patch(result_of(script, facts, CHANGES), tmp_path / "project")
    git(tmp_path / "project", "init", "-q")
    apply_patch(tmp_path / "project", patch)
    git(tmp_path / "project", "apply", "-R", str(tmp_path / "project.diff"))
    assert script.read_bytes() == before


def test_compiled_containers_keep_the_keys_and_are_copied_uncompiled(tmp_path, monkeypatch):
    original = torch.compile
    monkeypatch.setattr(torch, "compile", lambda *a, **k: original(*a, backend="eager", **k))
    text = shapes.PLAIN.replace("model = Net()", "model = nn.Sequential(Net())") + (
        "import copy\nkeys = list(model.state_dict())\ncopied = copy.deepcopy(model)\n"
    )
    run = patched_run(tmp_path / "project", {"t.py": text}, ["compile=reduce-overhead"], None)
    assert 'call=model._call_impl, **kwargs: _call(*args, **kwargs), mode="reduce' in run.text
    assert run.after["keys"] == run.before["keys"]
    assert run.after["copied"]._compiled_call_impl is None
    assert run.after["losses"] == pytest.approx(run.before["losses"], rel=1e-4)


def test_the_survey_ends_beside_other_hooks_of_optimizers(tmp_path):
    script = write_files(tmp_path, {"train.py": shapes.PLAIN})
    steps, found = [], []
    survey = Survey(found.append)
    survey.install()
    hook = register_optimizer_step_post_hook(lambda *_: steps.append(1))
    try:
        losses = run_script(script)["losses"]
    finally:
        hook.remove()
        survey.uninstall()
    assert len(found) == 1
    assert len(steps) == len(losses)


def test_the_survey_leaves_no_hooks(plain):
    script, _, values = plain
    kinds = (torch.nn.Module, torch.optim.Optimizer, torch.utils.data.DataLoader)
    assert not any("ConstructionSites" in kind.__init__.__qualname__ for kind in kinds)
    assert run_script(script)["losses"] == values["losses"]
