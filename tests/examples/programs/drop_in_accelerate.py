"""Trains with Hugging Face's Accelerate; tundish.accelerate replaces prepare() for the DataLoader.

accelerate launch tests/examples/programs/drop_in_accelerate.py photos/ checkpoint/
"""

import os
import sys

import torch
import tundish
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

folder, checkpoint = sys.argv[1:]
accelerator = Accelerator()
torch.manual_seed(0)
augment = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage(), v2.ToDtype(torch.float32, True)])
dataset = ImageFolder(folder, augment)
sampler = DistributedSampler(dataset, accelerator.num_processes, accelerator.process_index)
loader = tundish.accelerate(DataLoader(dataset, batch_size=8, sampler=sampler))

layers = [nn.Conv2d(3, 32, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
model = nn.Sequential(*layers, nn.Linear(32, len(dataset.classes)))
model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
accelerator.register_for_checkpointing(loader)
if os.path.exists(checkpoint):
    accelerator.load_state(checkpoint)
for epoch in range(loader.epoch, 2):
    sampler.set_epoch(epoch)
    for step, (images, labels) in enumerate(loader):
        outputs = model(images.to(accelerator.device))
        optimizer.zero_grad()
        accelerator.backward(nn.functional.cross_entropy(outputs, labels.to(accelerator.device)))
        optimizer.step()
        if step % 3 == 0:
            accelerator.save_state(checkpoint)
