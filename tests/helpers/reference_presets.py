"""Presets of torchvision's references, which hide their transforms in a class (references/classification)."""

import torch
from torchvision import transforms as v1
from torchvision.transforms import v2
from torchvision.transforms.autoaugment import AutoAugment, AutoAugmentPolicy
from torchvision.transforms.functional import InterpolationMode

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class ClassificationPresetTrain:
    """torchvision's reference for training, in the order of its steps."""

    def __init__(self, *, crop_size, auto_augment=None, random_erase=0.0, hflip=0.5, use_v2=False):
        T = v2 if use_v2 else v1
        steps = [T.RandomResizedCrop(crop_size, antialias=True)]
        steps += [T.RandomHorizontalFlip(hflip)] if hflip else []
        if auto_augment is not None:
            kind = v2.AutoAugment if use_v2 else AutoAugment
            steps.append(kind(AutoAugmentPolicy(auto_augment), InterpolationMode.BILINEAR))
        steps += [T.PILToTensor()]
        to_float = (
            T.ToDtype(torch.float, scale=True) if use_v2 else T.ConvertImageDtype(torch.float)
        )
        steps += [to_float, T.Normalize(mean=MEAN, std=STD)]
        steps += [T.RandomErasing(p=random_erase)] if random_erase else []
        steps += [T.ToPureTensor()] if use_v2 else []
        self.transforms = T.Compose(steps)

    def __call__(self, img):
        return self.transforms(img)


class ClassificationPresetEval:
    """torchvision's reference for evaluation."""

    def __init__(self, *, crop_size, resize_size, use_v2=False):
        T = v2 if use_v2 else v1
        steps = [T.Resize(resize_size, antialias=True), T.CenterCrop(crop_size), T.PILToTensor()]
        steps += [
            T.ToDtype(torch.float, scale=True) if use_v2 else T.ConvertImageDtype(torch.float)
        ]
        steps += [T.Normalize(mean=MEAN, std=STD)]
        steps += [T.ToPureTensor()] if use_v2 else []
        self.transforms = T.Compose(steps)

    def __call__(self, img):
        return self.transforms(img)
