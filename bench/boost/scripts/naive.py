"""A training script as many begin: ImageFolder, torchvision's transforms, ResNet-18, float32.

python naive.py FOLDER STEPS [SIZE [BATCH]]: trains for STEPS steps and prints images per second of
the last three quarters.
"""

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import models, transforms
from torchvision.datasets import ImageFolder

folder, steps = sys.argv[1], int(sys.argv[2])
size = int(sys.argv[3]) if len(sys.argv) > 3 else 128
batch = int(sys.argv[4]) if len(sys.argv) > 4 else 32
device = "cuda" if torch.cuda.is_available() else "cpu"

torch.manual_seed(0)
augment = transforms.Compose(
    [
        transforms.RandomResizedCrop(size),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]
)
dataset = ImageFolder(folder, augment)
loader = DataLoader(dataset, batch_size=batch, shuffle=True, drop_last=True)
model = models.resnet18(num_classes=10).to(device)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)


def train() -> float:
    """Returns images per second, without the first quarter of the steps."""
    model.train()
    done, begin, first = 0, 0.0, steps // 4
    while True:
        for images, labels in loader:
            if done == first:
                begin = time.perf_counter()
            images, labels = images.to(device), labels.to(device) % 10
            optimizer.zero_grad()
            loss = loss_fn(model(images), labels)
            loss.backward()
            optimizer.step()
            done += 1
            if done == steps:
                loss.item()
                return (steps - first) * batch / (time.perf_counter() - begin)


print("images/s", round(train(), 2))
