"""Small versions of image models, and jobs that train them."""

import torch
from torch import nn
from tundish.tuning.job import Job


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x):
        return torch.relu_(self.body(x) + x)


class Inverted(nn.Module):
    """MobileNetV2's block: expansion, depthwise convolution, projection."""

    def __init__(self, channels):
        super().__init__()
        wide = 4 * channels
        self.body = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU6(inplace=True),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU6(inplace=True),
            nn.Conv2d(wide, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x):
        return x + self.body(x)


class ConvNext(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.wide, self.narrow = (
            nn.Linear(channels, 4 * channels),
            nn.Linear(4 * channels, channels),
        )
        self.scale = nn.Parameter(torch.full((channels,), 1e-2))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.narrow(nn.functional.gelu(self.wide(y)))
        return x + y.permute(0, 3, 1, 2)


class ViT(nn.Module):
    def __init__(self, width=48, depth=2, classes=10):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, stride=8)
        self.place = nn.Parameter(torch.zeros(1, 16, width))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width,
                4,
                4 * width,
                dropout=0.1,
                activation="gelu",
                batch_first=True,
                norm_first=True,
            )
            for _ in range(depth)
        )
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.place
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


def convolutional(block, channels=16, depth=2, classes=10):
    return nn.Sequential(
        nn.Conv2d(3, channels, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU(inplace=True),
        *(block(channels) for _ in range(depth)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(channels, classes),
    )


MODELS = {
    "resnet": lambda: convolutional(Residual),
    "mobilenet": lambda: convolutional(Inverted),
    "convnext": lambda: convolutional(ConvNext),
    "vit": ViT,
}


def image_job(name, samples=8, optimizer=torch.optim.SGD, size=32, **options):
    torch.manual_seed(0)
    model = MODELS[name]()
    options.setdefault("lr", 0.01)
    batch = (torch.randn(samples, 3, size, size), torch.randint(10, (samples,)))
    return Job(model, optimizer(model.parameters(), **options), nn.CrossEntropyLoss(), [batch])
