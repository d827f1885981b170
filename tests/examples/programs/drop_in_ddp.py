"""Trains with DistributedDataParallel, torch's DataLoader and DistributedSampler; one line changed.

torchrun --nproc-per-node 2 tests/examples/programs/drop_in_ddp.py photos/ checkpoint.pt
"""

import os
import sys

import torch
import tundish
from torch import distributed, nn
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

folder, checkpoint = sys.argv[1:]
distributed.init_process_group("gloo")  # with GPUs: "nccl", and accelerate(..., device="cuda")
torch.manual_seed(0)
augment = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage(), v2.ToDtype(torch.float32, True)])
dataset = ImageFolder(folder, augment)
sampler = DistributedSampler(dataset)
loader = tundish.accelerate(DataLoader(dataset, batch_size=4, sampler=sampler, num_workers=1))
layers = [nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(48, len(dataset.classes))]
model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
parts = {"model": model, "optimizer": optimizer, "loader": loader}
if os.path.exists(checkpoint):  # one file for all ranks
    for name, state in torch.load(checkpoint).items():
        parts[name].load_state_dict(state)
for epoch in range(loader.epoch, 2):
    sampler.set_epoch(epoch)
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        if step % 3 == 0 and distributed.get_rank() == 0:
            torch.save({name: part.state_dict() for name, part in parts.items()}, checkpoint + "~")
            os.replace(checkpoint + "~", checkpoint)  # replaces the file atomically
distributed.destroy_process_group()
