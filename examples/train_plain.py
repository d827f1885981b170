"""Trains in a plain training loop that resumes where it was killed.

tundish pack photos/ -o train.tnd
python examples/train_plain.py train.tnd checkpoint.pt
"""

import os
import sys

import torch
import tundish
from torch import nn
from tundish import transforms as T

pack, checkpoint = sys.argv[1:]
augment = [T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.Normalize()]
loader = tundish.Loader(pack, batch_size=8, shuffle=True, seed=0, transforms=augment)

torch.manual_seed(0)
layers = [nn.Conv2d(3, 32, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
model = nn.Sequential(*layers, nn.Linear(32, len(loader.classes)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
parts = {"model": model, "optimizer": optimizer, "loader": loader}
if os.path.exists(checkpoint):
    for name, state in torch.load(checkpoint).items():
        parts[name].load_state_dict(state)

while loader.epoch < 2:
    for step, (images, labels) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            print(f"epoch {loader.epoch}: loss {loss.item():.4f}", flush=True)
            torch.save({name: part.state_dict() for name, part in parts.items()}, checkpoint + "~")
            os.replace(checkpoint + "~", checkpoint)  # replaces the file atomically
