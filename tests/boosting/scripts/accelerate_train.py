"""A loop with Accelerate: accumulated gradients, a scheduler and a saved state."""

import argparse
import os

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=200, help="batches")
parser.add_argument("--accumulate", type=int, default=2)
parser.add_argument("--precision", help="the script's own choice")
parser.add_argument("--resume", help="state to continue from")
parser.add_argument("--validate", type=int, default=16, help="samples of the validation")
parser.add_argument("--folder", default="accelerate")
options = parser.parse_args()

chosen = {"mixed_precision": options.precision} if options.precision else {}
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=options.accumulate, **chosen)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)
        self.rest = nn.Sequential(
            *(nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, 2), nn.ReLU()),
            *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4)),
        )
        self.types = {True: set(), False: set()}  # by training

    def forward(self, x):
        out = self.first(x)
        self.types[self.training].add(str(out.dtype))
        return self.rest(out)


def samples(count, seed):
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 4, (count,), generator=draw)
    images = torch.rand(count, 3, 16, 16, generator=draw) + labels.view(-1, 1, 1, 1) / 4
    return TensorDataset(images, labels)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.9)
loader = DataLoader(samples(96, 1), 8, shuffle=True)
val_loader = DataLoader(samples(options.validate, 2), 8)
model, optimizer, loader, val_loader, scheduler = accelerator.prepare(
    net, optimizer, loader, val_loader, scheduler
)
if options.resume:
    accelerator.load_state(options.resume)
batches = 0
while batches < options.steps:
    model.train()
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        batches += 1
        if batches == options.steps:
            break
    model.eval()
    for x, _ in val_loader:
        with torch.no_grad():
            accelerator.gather_for_metrics(model(x))
os.makedirs(options.folder, exist_ok=True)
accelerator.save_state(f"{options.folder}/state")
print("train", *sorted(net.types[True]), "val", *sorted(net.types[False]))
print("precision", accelerator.mixed_precision)
