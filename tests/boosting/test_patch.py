"""The patch of a boost: applied with git, it makes the proven changes in scripts of many shapes."""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from PIL import Image

from tests.boosting import patch_shapes as shapes
from tests.boosting.patch_hand_shapes import BY_HAND
from tests.boosting.patch_image_shapes import IMAGES
from tests.boosting.patch_runs import patched_run

# torch's compiler reads .grad of tensors that are no leaves.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute")

GOLDEN = Path(__file__).parent / "golden"
EXACT = ["workers=0", "channels_last", "fused"]  # equal up to rounding
ALL = [*EXACT, "bf16", "compile", "tf32", "cudnn_benchmark"]


@pytest.fixture(autouse=True)
def compiled_calls(monkeypatch):
    """Counts calls of compiled graphs, without the compiler's code generator."""
    counts = SimpleNamespace(graphs=0, calls=0)
    original = torch.compile

    def backend(graph, _):
        counts.graphs += 1

        def run(*args):
            counts.calls += 1
            return graph.forward(*args)

        return run

    monkeypatch.setattr(
        torch, "compile", lambda *a, mode=None, **k: original(*a, backend=backend, **k)
    )
    yield counts
    torch._dynamo.reset()


def assert_close(run, tolerance):
    before, after = run.before["losses"], run.after["losses"]
    assert len(before) == len(after) >= 6
    pairs = zip(before, after)
    assert all(math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) for a, b in pairs)


@pytest.mark.parametrize("name", shapes.AUTOMATIC)
def test_every_change_of_a_shape_is_written_and_keeps_its_losses(tmp_path, name, compiled_calls):
    shape = shapes.AUTOMATIC[name]
    run = patched_run(tmp_path / "project", shape.files, ALL)
    assert run.patch.by_hand == []
    assert_close(run, 0.05)
    for code in (*shape.expected, "allow_tf32", "cudnn.benchmark = True"):
        assert code in run.patch.text
    assert "torch.bfloat16" in run.patch.text
    assert "fused=True" in run.patch.text
    assert compiled_calls.graphs > 0
    assert compiled_calls.calls >= len(run.after["losses"])


@pytest.mark.parametrize("name", shapes.AUTOMATIC)
def test_changes_that_keep_the_precision_keep_the_losses(tmp_path, name):
    run = patched_run(tmp_path / "project", shapes.AUTOMATIC[name].files, EXACT)
    assert run.patch.by_hand == []
    assert_close(run, 1e-4)


@pytest.mark.parametrize("name", BY_HAND)
def test_what_cannot_be_written_is_a_comment_with_its_code(tmp_path, name):
    shape = BY_HAND[name]
    run = patched_run(tmp_path / "project", shape.files, list(shape.changes))
    assert {one.change: one.reason for one in run.patch.by_hand} == shape.reasons
    for one in run.patch.by_hand:
        assert one.code
        for line in one.comment():
            assert line in run.patch.text
    assert_close(run, 1e-6)


def _folder_of_images(folder):
    for kind in range(2):
        (folder / f"class{kind}").mkdir(parents=True)
        for number in range(12):
            color = (100 * kind + 5 * number, 20 * number, 50)
            Image.new("RGB", (32, 32), color).save(folder / f"class{kind}" / f"{number}.png")


@pytest.mark.parametrize("name", IMAGES)
def test_accelerate_takes_the_training_loader(tmp_path, name):
    shape = IMAGES[name]
    _folder_of_images(tmp_path / "project" / "photos")
    run = patched_run(tmp_path / "project", shape.files, ["accelerate"])
    assert run.patch.by_hand == []
    for code in shape.expected:
        assert code in run.text
    assert run.after["train_loader"].report.native
    assert_close(run, 0.02)


def test_golden_diff_of_a_plain_script(tmp_path):
    shape = shapes.AUTOMATIC["plain loop"]
    run = patched_run(tmp_path / "project", shape.files, ["tf32", "channels_last", "bf16"])
    assert run.patch.text == (GOLDEN / "plain.diff").read_text()
    assert run.patch.changed_lines == 8


def test_golden_diff_with_a_comment(tmp_path):
    shape = BY_HAND["lambda"]
    run = patched_run(tmp_path / "project", shape.files, ["bf16", "fused"])
    assert run.patch.text == (GOLDEN / "lambda.diff").read_text()
