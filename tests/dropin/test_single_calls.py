"""Transforms behind functions and classes that only call them: torch's batches from the engine, or a reason."""

import functools
from pathlib import Path

import pytest
import torch
import tundish
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2

from tests.helpers import torch_sets
from tests.helpers.reference_presets import ClassificationPresetEval, ClassificationPresetTrain
from tests.helpers.torch_sets import FIXED, RANDOM, accelerated, same_batches

HERE = Path(__file__)
COMPOSE = v2.Compose(FIXED)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return torch_sets.write_folder(tmp_path_factory.mktemp("calls") / "photos", 9)


class SegmentationPresetTrain(ClassificationPresetEval):
    def __call__(self, img, target):  # a joint call
        return self.transforms(img, target)


class Documented:
    shared = COMPOSE

    def __call__(self, image: object, more: int = 3) -> torch.Tensor:
        """Has one argument too many."""
        return self.shared(image)


class Shared:
    shared = COMPOSE

    def __call__(self, image: object) -> torch.Tensor:
        """Calls an attribute of the class."""
        image = self.shared(image)
        return image


class Private:
    def __init__(self, steps):
        self.__steps = steps

    def __call__(self, image):
        out = self.__steps(image)
        return out

    def apply(self, image):
        return self.__steps(image)


class Child(nn.Module):
    def __init__(self, steps=COMPOSE):
        super().__init__()
        self.steps = steps

    def forward(self, image):
        return self.steps(image)


class Bare(nn.Module):
    """A child that hides behind a class attribute of the same name: torch calls the attribute."""

    steps = COMPOSE

    def __init__(self):
        super().__init__()
        self.steps = v2.Compose([v2.Resize((8, 8)), *FIXED[2:]])

    def forward(self, image):
        return self.steps(image)


def by_name(image):
    return COMPOSE(image)


def in_closure(steps):
    return lambda image: steps(image)


def in_chain(steps):
    class Config:
        def __init__(self):
            self.inner = Private(steps)

    config = Config()
    return lambda image: config.inner(image)


def own_attribute():
    """Returns an object whose attribute hides that of its class."""
    out = Shared()
    out.shared = v2.Compose([v2.Resize((8, 8)), *FIXED[2:]])
    return out


WRAPPED = {
    "preset": lambda: ClassificationPresetEval(crop_size=16, resize_size=20),
    "preset of v2": lambda: ClassificationPresetEval(crop_size=16, resize_size=20, use_v2=True),
    "train without randomness": lambda: v2.Compose([Private(v2.Compose(FIXED[:2])), *FIXED[2:]]),
    "class attribute": Shared,
    "attribute that hides that of the class": own_attribute,
    "private attribute": lambda: Private(COMPOSE),
    "bound method": lambda: Private(COMPOSE).apply,
    "module with a child": Child,
    "module with a list of v1": lambda: Child(v1.Compose([v1.Resize((9, 9)), v1.ToTensor()])),
    "module with a sequence": lambda: Child(nn.Sequential(*FIXED)),
    "module with a class attribute": Bare,
    "sequence of modules": lambda: nn.Sequential(
        Child(v1.Compose([v1.Resize((9, 9))])), Child(nn.Sequential(*FIXED[2:]))
    ),
    "function": lambda: by_name,
    "lambda": lambda: lambda image: COMPOSE(image),
    "closure": lambda: in_closure(COMPOSE),
    "chain": lambda: in_chain(COMPOSE),
    "partial": lambda: functools.partial(COMPOSE),
    "partial of a lambda": lambda: functools.partial(in_closure(Child())),
    "Lambda": lambda: v1.Lambda(in_closure(COMPOSE)),
    "one transform": lambda: v1.Compose([v1.Resize((8, 8)), in_closure(v1.ToTensor())]),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_a_step_that_only_calls_a_transform_gives_torchs_batches(folder, name):
    theirs = DataLoader(datasets.ImageFolder(folder, WRAPPED[name]()), 4)
    ours = accelerated(theirs, prove_batches=2)
    assert same_batches(ours, theirs)
    assert same_batches(ours, theirs), "the second epoch"
    assert "equal values" in ours.report.proof


@pytest.mark.parametrize("use_v2", [False, True])
@pytest.mark.parametrize("policy", [None, "imagenet"])
def test_the_preset_for_training_has_the_transforms_of_its_list(folder, use_v2, policy):
    options = {"auto_augment": policy, "random_erase": 0.1, "use_v2": use_v2}
    preset = ClassificationPresetTrain(crop_size=16, **options)
    loaders = [
        accelerated(DataLoader(datasets.ImageFolder(folder, steps), 4), seed=3, prove_batches=1)
        for steps in (preset, preset.transforms)
    ]
    assert same_batches(*loaders), "the same random numbers"
    same = DataLoader(datasets.ImageFolder(folder, preset), 4)
    for (image, label), (other, other_label) in zip(loaders[0], same, strict=True):
        assert (image.shape, image.dtype) == (other.shape, other.dtype)
        assert torch.equal(label, other_label)
    assert "RandomErasing(p=0.1" in str(loaders[0].report)


# --- what is kept --------------------------------------------------------------------------------


class Getter(Private):
    def __getattr__(self, name):
        return by_name


class Getting(Private):
    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


class Computed:
    @property
    def steps(self):
        return COMPOSE

    def __call__(self, image):
        return self.steps(image)


class Twice:
    steps = COMPOSE

    def __call__(self, image):
        return self.steps(self.steps(image))


class Other(Shared):
    def __call__(self, image):
        return self.shared(image) + 1


class Joint(Shared):
    def __call__(self, image, target):
        return self.shared(image), target


class Called(Child):
    def __call__(self, image):
        return super().__call__(image) * 2


class Inner(Child):
    def _call_impl(self, image):
        return self.steps(image) * 2


def hooked():
    out = Child()
    out.register_forward_hook(lambda module, given, result: result * 0)
    return out


def own_forward():
    out = Child()
    out.forward = lambda image: COMPOSE(image) * 0
    return out


def hooked_sequence():
    out = nn.Sequential(Child())
    out.register_forward_hook(lambda module, given, result: result * 0)
    return out


def inner_hook():
    steps = v2.Compose(FIXED)
    steps.register_forward_hook(lambda module, given, result: result * 0)
    return Child(steps)


KEPT = {
    "getattr": (lambda: Getter(COMPOSE), "defines how its attributes are found (__getattr__)"),
    "getattribute": (lambda: Getting(COMPOSE), "attributes are found (__getattribute__)"),
    "property": (Computed, "Computed.steps is computed"),
    "two calls": (Twice, "Twice is Python"),
    "further code": (Other, "Other is Python"),
    "further argument": (Documented, "Documented is Python"),
    "module called in another way": (Called, "Called is Python"),
    "module with another _call_impl": (Inner, "_call_impl was replaced"),
    "module with a hook": (hooked, "it has a hook (_forward_hooks)"),
    "sequence with a hook": (hooked_sequence, "Child is Python"),
    "module with its own forward": (own_forward, "forward was replaced"),
    "list with a hook": (inner_hook, "it has a hook (_forward_hooks)"),
    "partial with arguments": (
        lambda: functools.partial(lambda scale, image: COMPOSE(image) * scale, 2),
        "functools.partial has arguments",
    ),
    "function of torchvision": (
        lambda: lambda image: v1.functional.to_tensor(image),
        "<lambda> is",
    ),
    "its own": (lambda: Private(None), "Private is Python"),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_step_that_may_do_more_is_kept(folder, name):
    make, what = KEPT[name]
    dataset = datasets.ImageFolder(folder, v1.Compose([v1.Resize((20, 20)), make()]))
    report = tundish.accelerate(DataLoader(dataset, 3)).report
    assert not report.native
    assert what in str(report)


@pytest.mark.parametrize("kind", [SegmentationPresetTrain, Joint])
def test_a_joint_transform_is_refused_with_that_reason(folder, kind):
    given = {"crop_size": 8, "resize_size": 9} if kind is SegmentationPresetTrain else {}
    loader = tundish.accelerate(DataLoader(datasets.ImageFolder(folder, kind(**given)), 3))
    reason = loader.report.reasons[0]
    assert "it takes im" in reason.what
    assert "and target, but the dataset passes the image alone" in reason.what
    text = HERE.read_text().splitlines()[int(reason.where.rpartition(":")[2]) - 1]
    assert "def __call__(self, im" in text
    assert "target" in text


def test_a_replaced_call_of_torchs_module_is_noticed(folder, monkeypatch):
    loader = DataLoader(datasets.ImageFolder(folder, Child()), 3)
    call = nn.Module.__call__
    monkeypatch.setattr(nn.Module, "__call__", lambda self, *given: call(self, *given))
    assert not tundish.accelerate(loader).report.native


# --- later changes -------------------------------------------------------------------------------


def other_list(preset):
    preset.transforms = v1.Compose([v1.Resize((8, 8)), v1.ToTensor()])


def other_size(preset):
    preset.transforms.transforms[0].size = 30


def added_step(preset):
    preset.transforms.transforms.append(v1.RandomErasing())


def own_step(preset):
    preset.transforms.transforms.append(lambda image: image * 0)


def unknown(preset):
    preset.transforms = lambda image: COMPOSE(image) * 0


def other_class(preset):
    preset.__class__ = type("Double", (), {"__call__": lambda self, image: COMPOSE(image) * 2})


@pytest.mark.parametrize(
    "change",
    [other_list, other_size, added_step, own_step, unknown, other_class],
    ids=lambda one: one.__name__,
)
def test_a_later_change_of_a_preset_is_noticed(folder, change):
    preset = ClassificationPresetEval(crop_size=16, resize_size=20)
    theirs = DataLoader(datasets.ImageFolder(folder, preset), 4)
    ours = accelerated(theirs)
    assert same_batches(ours, theirs)
    change(preset)
    with pytest.raises(RuntimeError, match=r"transforms of the dataset.*changed after .* again"):
        iter(ours)
    if change is not added_step:
        again = tundish.accelerate(ours)
        assert again.report.native == (change in (other_list, other_size))
        assert same_batches(again, theirs)


def test_a_name_that_refers_to_another_list_later_is_noticed(folder, monkeypatch):
    theirs = DataLoader(datasets.ImageFolder(folder, by_name), 4)
    ours = accelerated(theirs)
    assert same_batches(ours, theirs)
    monkeypatch.setitem(globals(), "COMPOSE", v2.Compose([v2.Resize((9, 9)), *FIXED[2:]]))
    with pytest.raises(RuntimeError, match="changed after"):
        iter(ours)
    assert same_batches(accelerated(ours), theirs)


def test_a_function_that_gets_other_code_later_is_noticed(folder):
    call = in_closure(COMPOSE)
    loader = accelerated(DataLoader(datasets.ImageFolder(folder, call), 4))
    steps = COMPOSE
    call.__code__ = (lambda image: steps(image) * 2).__code__
    with pytest.raises(RuntimeError, match="changed after"):
        iter(loader)


def test_random_steps_behind_a_function_stay_random(folder):
    random = in_closure(v2.Compose(RANDOM))
    ours = accelerated(DataLoader(datasets.ImageFolder(folder, random), 4))
    assert not torch.equal(next(iter(ours))[0], next(iter(ours))[0]), "two epochs"
    assert "random transforms draw the engine's random numbers" in str(ours.report)
