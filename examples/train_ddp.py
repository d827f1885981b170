"""Trains with DistributedDataParallel. Each rank gets its share of every batch without a sampler.

torchrun --nproc-per-node 2 examples/train_ddp.py train.tnd checkpoint.pt
"""

import os
import sys

import torch
import tundish
from torch import distributed, nn
from tundish import transforms as T

pack, checkpoint = sys.argv[1:]
distributed.init_process_group("gloo")  # on GPUs, use "nccl" and move everything .to("cuda")
augment = [T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.Normalize()]
loader = tundish.Loader(pack, batch_size=4, shuffle=True, transforms=augment)  # 4 per rank

torch.manual_seed(0)
layers = [nn.Conv2d(3, 32, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
layers.append(nn.Linear(32, len(loader.classes)))
model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
parts = {"model": model, "optimizer": optimizer, "loader": loader}
if os.path.exists(checkpoint):  # one file for all ranks, whose number may change
    for name, state in torch.load(checkpoint).items():
        parts[name].load_state_dict(state)

while loader.epoch < 2:
    for step, (images, labels) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 3 == 0 and loader.rank == 0:
            print(f"epoch {loader.epoch}: loss {loss.item():.4f}", flush=True)
            torch.save({name: part.state_dict() for name, part in parts.items()}, checkpoint + "~")
            os.replace(checkpoint + "~", checkpoint)  # replaces the file atomically
distributed.destroy_process_group()
