"""Trains a small network from a pack with a plain loop.

tundish pack photos/ -o photos.tnd          # photos/<class>/<image>.jpg
python tests/examples/programs/train_sample.py photos.tnd --epochs 10
"""

import argparse

import torch
import tundish
from torch import nn
from tundish import transforms as T

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("pack")
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--size", type=int, default=64)
options = parser.parse_args()

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
loader = tundish.Loader(
    options.pack,
    options.batch_size,
    shuffle=True,
    seed=0,
    transforms=[
        T.RandomResizedCrop(options.size, scale=(0.3, 1.0)),
        T.RandomHorizontalFlip(),
        T.Normalize(),
    ],
)


def block(into: int, out: int) -> list[nn.Module]:
    return [
        nn.Conv2d(into, out, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(out),
        nn.ReLU(),
    ]


layers = [*block(3, 32), *block(32, 64), *block(64, 128), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
model = nn.Sequential(*layers, nn.Linear(128, len(loader.classes)))
model = model.to(device, memory_format=torch.channels_last)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

for epoch in range(options.epochs):
    total = torch.zeros((), device=device)
    for images, labels in loader:
        loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()  # .item() here would wait for the GPU in every step
    print(f"epoch {epoch}: loss {total.item() / len(loader):.3f}", flush=True)
