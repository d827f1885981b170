"""Trains with Accelerate. The loader detects its rank, so it does not need accelerator.prepare().

accelerate launch examples/train_accelerate.py train.tnd checkpoint/
"""

import os
import sys

import torch
import tundish
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from tundish import transforms as T

pack, checkpoint = sys.argv[1:]
accelerator = Accelerator()  # must precede the loader, because it starts torch.distributed
augment = [T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.Normalize()]
loader = tundish.Loader(pack, batch_size=8, shuffle=True, transforms=augment)

set_seed(0)
layers = [nn.Conv2d(3, 32, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
model = nn.Sequential(*layers, nn.Linear(32, len(loader.classes)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model, optimizer = accelerator.prepare(model, optimizer)
accelerator.register_for_checkpointing(loader)
if os.path.exists(checkpoint):
    accelerator.load_state(checkpoint)

while loader.epoch < 2:
    for step, (images, labels) in enumerate(loader):
        outputs = model(images.to(accelerator.device))
        loss = nn.functional.cross_entropy(outputs, labels.to(accelerator.device))
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        if step % 3 == 0:
            accelerator.print(f"epoch {loader.epoch}: loss {loss.item():.4f}", flush=True)
            accelerator.save_state(checkpoint)
