"""plan.patch(): the printed loop runs and trains to the same weights as plan.apply()."""

import itertools
from types import SimpleNamespace

import pytest
import torch
from tundish.tuning import patch
from tundish.tuning.fingerprint import fingerprint_of
from tundish.tuning.plan import Plan
from tundish.tuning.step import Step
from tundish.tuning.tricks import TRICKS, load_own, trick_from_json

from tests.helpers import tuning_reports as examples
from tests.helpers.program import ROOT

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-3),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01, betas=(0.8, 0.99)),
}


@pytest.fixture(autouse=True)
def _one_thread():
    """Limits torch to one thread, because threads on tensors this small only spin."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def job(optimizer="SGD"):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(32, 5),
    )
    groups = [{"params": model[0].parameters(), "lr": 0.05}, {"params": model[4].parameters()}]
    batches = [(torch.randn(9, 3, 12, 12), torch.randint(0, 5, (9,))) for _ in range(5)]
    return model, OPTIMIZERS[optimizer](groups), torch.nn.CrossEntropyLoss(), batches


def plan_of(tricks, optimizer="SGD"):
    model, optim, _, batches = job(optimizer)
    made_for = fingerprint_of(model, optim, batches[0])
    return Plan([trick_from_json(one) for one in tricks], made_for, examples.image_model())


def run_patch(text, optimizer="SGD"):
    model, optim, loss_fn, loader = job(optimizer)
    exec(
        compile(text, "patch", "exec"),
        {"model": model, "optimizer": optim, "loss_fn": loss_fn, "loader": loader},
    )
    return model


def run_plan(plan, optimizer="SGD"):
    model, optim, loss_fn, loader = job(optimizer)
    step = plan.apply(model, optim, loss_fn)
    for batch in loader:
        step(batch)
    return model


def largest_difference(one, other):
    return max(
        float((a - b).detach().abs().max()) for a, b in zip(one.parameters(), other.parameters())
    )


NAMES = ["bf16", "channels_last", "fused_optimizer", "foreach_optimizer", "inplace", "set_to_none"]
STACKS = [[], *([name] for name in NAMES), [n for n in NAMES if n != "foreach_optimizer"]]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("names", STACKS, ids="+".join)
def test_the_lines_train_like_the_plan(names, optimizer):
    plan = plan_of([{"name": name} for name in names], optimizer)
    ours, theirs = run_patch(plan.patch(), optimizer), run_plan(plan, optimizer)
    assert largest_difference(ours, theirs) == 0
    assert [p.stride() for p in ours.parameters()] == [p.stride() for p in theirs.parameters()]
    assert ours[1].inplace == theirs[1].inplace
    untrained = job(optimizer)[0]
    assert largest_difference(ours, untrained) > 0.01


@pytest.mark.parametrize("parts", [2, 4])
def test_accumulation_in_the_lines_equals_the_large_batch(parts, monkeypatch):
    monkeypatch.setattr(patch, "in_order", list)
    text = patch.patch_text([SimpleNamespace(name="accumulate", parts=parts)], "SGD", "cpu")
    assert f".tensor_split({parts})" in text
    model, optim, loss_fn, loader = job()
    step = Step(model, optim, loss_fn)
    step.accumulate = parts
    for batch in loader:
        step(batch)
    assert largest_difference(run_patch(text), model) < 1e-6
    # A wrong scale, which a comparison of losses alone would not detect.
    assert largest_difference(run_patch(text.replace(" * (len(x)", " * (2 * len(x)")), model) > 1e-3


def test_the_compiled_lines_train_like_the_plan(monkeypatch):
    asked = []

    def compiler(function, **words):
        asked.append(words)
        return function

    monkeypatch.setattr(torch, "compile", compiler)
    for mode in ("default", "max-autotune"):
        plan = plan_of([{"name": "compile", "mode": mode}, {"name": "bf16"}])
        assert largest_difference(run_patch(plan.patch()), run_plan(plan)) == 0
    assert asked[0] == {"dynamic": False}
    assert asked[1] == {"mode": "default", "dynamic": False}
    assert asked[2] == asked[3] == {"mode": "max-autotune", "dynamic": False}


def test_every_trick_has_its_place_or_is_named_as_left_out():
    one_of = ("strict_fp32", "torch_defaults", "foreach_optimizer", "bf16")
    kinds = [kind for kind in TRICKS if kind.name not in one_of]
    text = patch.patch_text([kind() for kind in kinds], "SGD", "cuda")
    compile(text, "patch", "exec")
    for kind in kinds:
        line = kind().code()[0].strip()
        said = line in text or kind.title in text or kind.name in text.replace("=", "_optimizer ")
        assert said or kind.name in ("inplace", "set_to_none", "compile", "accumulate"), kind.name
    for words in (
        "torch.backends.cuda.matmul.allow_tf32 = True",
        "torch.backends.cudnn.benchmark = True",
        "module.inplace = True",
        "optimizer = torch.optim.SGD(groups, fused=True)",
        'torch.autocast("cuda", dtype=torch.float16)',
        "# Left out: the CUDA graph of the step. It needs plan.apply():",
    ):
        assert words in text


def test_a_trick_without_a_place_in_the_lines_is_a_comment(monkeypatch):
    monkeypatch.setattr(patch, "in_order", list)
    new = SimpleNamespace(name="new", title="a new trick", code=lambda: ["x = 1", "y = 2"])
    text = patch.patch_text([new], "SGD", "cpu")
    assert text.endswith("\n# Left out: a new trick:\n#     x = 1\n#     y = 2\n")


def test_an_own_trick_without_lines_says_what_does_its_work(monkeypatch):
    words = f"{ROOT / 'tests/tuning/planted.py'}:NoWait"
    monkeypatch.chdir(ROOT)
    text = patch.patch_text([load_own(words)()], "SGD", "cpu")
    compile(text, "patch", "exec")
    assert text.split("# Left out: ")[1].splitlines() == [
        "no wait:",
        "#     tests/tuning/planted.py:NoWait has no code(). Its apply() does the work in plan.apply():",
        "#         step = plan.apply(model, optimizer, loss_fn)",
        "#     A method code() that returns the lines for a loop would show them here.",
    ]


def order_of(text, *parts):
    places = [text.index(part) for part in parts]
    return all(a < b for a, b in itertools.pairwise(places))


def test_the_scaler_is_made_once_and_used_in_order():
    text = patch.patch_text(
        [trick_from_json({"name": n}) for n in ("fp16", "fused_optimizer")], "SGD", "cuda"
    )
    assert order_of(
        text,
        "optimizer = torch.optim.SGD(groups, fused=True)",
        "momentum_buffer",
        'scaler = torch.amp.GradScaler("cuda")',
        "for inputs, targets in loader:",
        "optimizer.zero_grad",
        "scaler.scale(loss).backward()",
        "scaler.unscale_(optimizer)",
        "scaler.step(optimizer)",
        "scaler.update()",
    )
    assert "momentum_buffer" not in patch.patch_text(
        [trick_from_json({"name": "fp16"})], "SGD", "cuda"
    )
    plain = text.replace('"cuda"', '"cpu"').replace("float16", "bfloat16")
    assert largest_difference(run_patch(plain), job()[0]) > 0.01  # the lines run as printed


def test_an_optimizer_that_is_not_torchs_is_made_by_its_own_class():
    text = patch.patch_text([trick_from_json({"name": "fused_optimizer"})], "Lion", "cuda")
    assert "optimizer = type(optimizer)(groups, fused=True)" in text
