"""Trains with Lightning: a DataModule, and a Trainer that resumes in the middle of an epoch.

python examples/train_lightning.py train.tnd checkpoints/
"""

import sys

import lightning
import tundish
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import manual_seed, nn, optim
from tundish import transforms as T

pack, checkpoints = sys.argv[1:]
augment = [T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.Normalize()]


class Photos(lightning.LightningDataModule):
    def train_dataloader(self):
        return tundish.Loader(pack, batch_size=8, shuffle=True, transforms=augment)


class Model(lightning.LightningModule):
    def __init__(self, classes):
        super().__init__()
        layers = [nn.Conv2d(3, 32, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        self.layers = nn.Sequential(*layers, nn.Linear(32, classes))

    def training_step(self, batch):
        return nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def configure_optimizers(self):
        return optim.AdamW(self.parameters(), lr=1e-3)


manual_seed(0)
model = Model(classes=len(tundish.Dataset(pack).classes))
save = ModelCheckpoint(checkpoints, every_n_train_steps=3, save_last=True)
lightning.Trainer(max_epochs=2, callbacks=save, logger=False).fit(model, Photos(), ckpt_path="last")
