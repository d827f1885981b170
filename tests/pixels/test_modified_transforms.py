"""Transforms changed after construction are refused, because their arguments may be wrong."""

import json

import pytest

from tests.helpers.torchvision_child import ask_torchvision

CHILD = """
import json
from functools import partial
import timm
from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import v2
from tundish import transforms as T

def mine(*arguments, **named):
    return arguments[0]

def hooked(step, register="register_forward_hook"):
    getattr(step, register)(mine)
    return step

def changed(step, **attributes):
    for name, value in attributes.items():
        setattr(step, name, value)
    return step

def recipe(**arguments):
    return timm.data.create_transform(24, is_training=True, **arguments)

def edited_recipe(number, name, value, **arguments):
    made = recipe(**arguments)
    setattr(made.transforms[number], name, value)
    return made

def edited_operation(name, value):
    made = recipe(auto_augment="rand-m9")
    step = next(step for step in made.transforms if type(step).__name__ == "RandAugment")
    setattr(step.ops[3], name, value)
    return made

def answer(text):
    setup, _, expression = text.rpartition(";")
    exec(setup, globals())
    made = eval(expression)
    translate = T.from_timm if "recipe" in text or "operation" in text else T.from_torchvision
    try:
        return repr(translate(made))
    except ValueError as error:
        return f"refused: {error}"

print(json.dumps([answer(text) for text in json.loads(sys.argv[1])]))
"""

CASES = [
    ("hooked(v1.RandomCrop(9))", "_forward_hooks"),
    ("hooked(v2.Resize(9), 'register_forward_pre_hook')", "_forward_pre_hooks"),
    ("hooked(v2.Resize(9), 'register_full_backward_hook')", "_backward_hooks"),
    ("hooked(v2.Compose([v2.Resize(9)]))", "_forward_hooks"),
    ("v2.Compose([hooked(v2.Compose([v2.Resize(9)]))])", "_forward_hooks"),
    ("hooked(nn.Sequential(v2.Resize(9)))", "_forward_hooks"),
    ("v1.RandomApply([hooked(v1.Grayscale(3))])", "_forward_hooks"),
    ("hooked(v2.RandomChoice([v2.RandomInvert()]))", "_forward_hooks"),
    ("changed(v1.Resize(9), forward=mine)", "forward was set"),
    ("changed(v2.Resize(9), transform=mine)", "transform was set"),
    ("changed(v2.RandomResizedCrop(9), make_params=mine)", "make_params was set"),
    ("changed(v1.RandomCrop(9), get_params=mine)", "get_params was set"),
    ("changed(v1.RandomCrop(9), get_params=partial(mine))", "get_params was set"),
    ("changed(v2.RandomInvert(), _transformed_types=())", "_transformed_types was set"),
    ("changed(v1.RandAugment(), _augmentation_space=mine)", "_augmentation_space was set"),
    ("changed(v2.Resize(9), other=mine)", "a custom function, other"),
    ("v2.Compose([v2.ToImage(), changed(v2.ToDtype(torch.float32), forward=mine)])", "forward was set"),
    ("changed(v1.AutoAugment(), policies=v1.AutoAugment().policies[:3])", "policies were edited"),
    ("changed(v2.AutoAugment(), _policies=v2.AutoAugment()._policies[:3])", "policies were edited"),
    ("changed(v2.Pad(3), fill=9)", "_fill does not match fill"),
    ("changed(v2.RandomResizedCrop(9), ratio=(1, 1))", "_log_ratio does not match ratio"),
    ("changed(v2.MixUp(num_classes=3), alpha=0.2)", "_dist does not match alpha"),
    ("class Crop(v1.RandomCrop): pass\n;Crop(9)", "not a transform of torchvision"),
    ("class Many(v2.Compose): pass\n;Many([v2.Resize(9)])", "not a transform of torchvision"),
    # timm's transforms
    ("edited_recipe(0, 'get_params', mine)", "get_params was set"),
    ("edited_recipe(1, 'forward', mine)", "forward was set"),
    ("edited_operation('aug_fn', mine)", "its functions were replaced"),
    ("changed(v2.AugMix(), _PARAMETER_MAX=5)", "_PARAMETER_MAX was edited"),
    ("changed(v1.AugMix(), _PARAMETER_MAX=5)", "_PARAMETER_MAX was edited"),
    ("edited_recipe(-1, 'per_pixel', False, re_prob=0.2, re_mode='pixel')", "do not match mode"),
    ("edited_recipe(-1, 'mode', 'rand', re_prob=0.2)", "do not match mode"),
    # changes of classes persist, so these cases come last
    ("v2.RandAugment._AUGMENTATION_SPACE.pop('Rotate');v2.RandAugment()", "_AUGMENTATION_SPACE was edited"),
    ("v1.RandomCrop.get_params = staticmethod(mine);v1.RandomCrop(9)", "RandomCrop.get_params was replaced"),
    ("v2.RandomCrop.make_params = mine;v2.RandomCrop(9)", "RandomCrop.make_params was replaced"),
    ("v2.Transform.forward = mine;v2.Resize(9)", "Transform.forward was replaced"),
    ("nn.modules.module.register_module_forward_hook(mine);v1.Resize(9)", "for all modules"),
]  # fmt: skip
TAKEN = [
    "v1.Compose([v1.RandomCrop(9), v1.ToTensor()])",
    "changed(v2.Resize(9), note='mine')",
    "from tundish.diagnosis.probe.layers.tracker import Tracker\nfrom types import FunctionType\n"
    "own = FunctionType(mine.__code__, vars(sys.modules[Tracker.__module__]))\n"
    "hook = nn.modules.module.register_module_forward_hook(own);v1.Resize(9)",
    "hook.remove();v1.Resize(9)",
    "recipe(auto_augment='rand-m9', re_prob=0.2, grayscale_prob=0.1)",
]


@pytest.fixture(scope="module")
def answers() -> list[str]:
    texts = [*TAKEN, *(text for text, _ in CASES)]
    made: list[str] = json.loads(ask_torchvision(CHILD, json.dumps(texts)))
    return made


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_modified_transform_is_refused(number: int, answers: list[str]) -> None:
    text, part = CASES[number]
    given = answers[len(TAKEN) + number]
    assert given.startswith("refused: "), text
    assert part in given, text


def test_an_unmodified_transform_is_accepted(answers: list[str]) -> None:
    assert [one for one in answers[: len(TAKEN)] if one.startswith("refused")] == []
