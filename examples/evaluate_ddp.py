"""Measures the exact accuracy on several ranks: every image counts once, for any number of ranks.

torchrun --nproc-per-node 2 examples/evaluate_ddp.py val.tnd checkpoint.pt
"""

import sys

import torch
import tundish
from torch import distributed, nn
from tundish import transforms as T

pack, checkpoint = sys.argv[1:]
distributed.init_process_group("gloo")
plain = [T.Resize(36), T.CenterCrop(32), T.Normalize()]
loader = tundish.Loader(pack, batch_size=4, transforms=plain, uneven="exact")

layers = [nn.Conv2d(3, 32, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
model = nn.Sequential(*layers, nn.Linear(32, len(loader.classes)))
state = torch.load(checkpoint)["model"]
model.load_state_dict({name.removeprefix("module."): value for name, value in state.items()})

sums = torch.zeros(2)  # number of correct predictions, number of images
with torch.no_grad():
    for images, labels in loader:  # all ranks get equally many batches; the last may be empty
        sums += torch.tensor([(model(images).argmax(1) == labels).sum(), len(labels)])
distributed.all_reduce(sums)
if loader.rank == 0:
    print(f"{sums[0]:.0f} of {sums[1]:.0f} right: accuracy {sums[0] / sums[1]:.4f}")
distributed.destroy_process_group()
