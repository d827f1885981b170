"""Trains like torchvision: python tests/examples/programs/drop_in_torchvision.py photos/ checkpoint.pth"""

import os
import sys

import torch
import torchvision
import tundish
from torch.utils.data import DataLoader, RandomSampler
from torchvision.transforms import v2

folder, path = sys.argv[1:]
torch.manual_seed(0)
steps = [v2.RandomResizedCrop(32, antialias=True), v2.RandomHorizontalFlip(0.5)]
steps += [v2.TrivialAugmentWide(), v2.PILToTensor(), v2.ToDtype(torch.float, scale=True)]
steps += [v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]), v2.RandomErasing(p=0.1)]
dataset = torchvision.datasets.ImageFolder(folder, v2.Compose(steps))
data_loader = DataLoader(dataset, batch_size=8, sampler=RandomSampler(dataset), num_workers=2)
data_loader = tundish.accelerate(data_loader)

model = torchvision.models.shufflenet_v2_x0_5(num_classes=len(dataset.classes))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2 * len(data_loader))
criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "loader": data_loader}
if os.path.exists(path):
    for name, state in torch.load(path).items():
        parts[name].load_state_dict(state)
for _ in range(data_loader.epoch, 2):
    for image, target in data_loader:
        loss = criterion(model(image), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        torch.save({name: part.state_dict() for name, part in parts.items()}, path + "~")
        os.replace(path + "~", path)  # replaces the file atomically
