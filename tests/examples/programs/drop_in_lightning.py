"""Trains with Lightning: an accelerated DataLoader in a DataModule, resumed in mid-epoch.

python tests/examples/programs/drop_in_lightning.py photos/ checkpoints/
"""

import sys

import lightning
import torch
import tundish
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

folder, checkpoints = sys.argv[1:]
torch.manual_seed(0)
augment = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage(), v2.ToDtype(torch.float32, True)])
dataset = ImageFolder(folder, augment)


class Photos(lightning.LightningDataModule):
    def train_dataloader(self):  # Lightning puts a sampler only into torch's own DataLoaders
        sampler = DistributedSampler(dataset, self.trainer.world_size, self.trainer.global_rank)
        return tundish.accelerate(DataLoader(dataset, batch_size=8, sampler=sampler))


class Model(lightning.LightningModule):
    def training_step(self, batch):
        return torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


model = Model()
model.layers = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, len(dataset.classes)))
save = ModelCheckpoint(checkpoints, every_n_train_steps=3, save_last=True)
lightning.Trainer(max_epochs=2, callbacks=save, logger=False).fit(model, Photos(), ckpt_path="last")
