"""Trains with torch's DataLoader and one changed line. Resumes where it was killed.

python examples/drop_in_plain.py photos/ checkpoint.pt
"""

import os
import sys

import torch
import tundish
from torch import nn
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

folder, checkpoint = sys.argv[1:]
torch.manual_seed(0)
augment = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage(), v2.ToDtype(torch.float32, True)])
dataset = ImageFolder(folder, augment)
loader = tundish.accelerate(DataLoader(dataset, batch_size=8, shuffle=True, num_workers=2))

layers = [nn.Conv2d(3, 32, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
model = nn.Sequential(*layers, nn.Linear(32, len(dataset.classes)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
parts = {"model": model, "optimizer": optimizer, "loader": loader}
if os.path.exists(checkpoint):
    for name, state in torch.load(checkpoint).items():
        parts[name].load_state_dict(state)

for epoch in range(loader.epoch, 2):
    for step, (images, labels) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            torch.save({name: part.state_dict() for name, part in parts.items()}, checkpoint + "~")
            os.replace(checkpoint + "~", checkpoint)  # replaces the file atomically
    print(f"epoch {epoch}: loss {loss.item():.4f}, {loader.stats()['data/wait_share']:.0%} waiting")
