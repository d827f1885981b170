"""Trains with timm's create_dataset and create_loader, with one changed line.

python examples/drop_in_timm.py photos/ checkpoint.pt
"""

import os
import sys

import timm
import torch
import tundish

folder, checkpoint = sys.argv[1:]
torch.manual_seed(0)
dataset = timm.data.create_dataset("", folder)
loader = timm.data.create_loader(
    dataset,
    input_size=(3, 32, 32),
    batch_size=8,
    is_training=True,
    auto_augment="rand-m9-mstd0.5-inc1",
    re_prob=0.25,
    use_prefetcher=False,  # batches stay in host memory, also with a GPU
)
loader = tundish.accelerate(loader)

model = timm.create_model("resnet10t", num_classes=len(dataset.reader.class_to_idx))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
parts = {"model": model, "optimizer": optimizer, "loader": loader}
if os.path.exists(checkpoint):
    for name, state in torch.load(checkpoint).items():
        parts[name].load_state_dict(state)
for _ in range(loader.epoch, 2):
    for images, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        torch.save({name: part.state_dict() for name, part in parts.items()}, checkpoint + "~")
        os.replace(checkpoint + "~", checkpoint)  # replaces the file atomically
