"""A LightningModule with a validation loop, a checkpoint callback and a logger."""

import argparse
import importlib

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--package", default="lightning.pytorch", help="or pytorch_lightning")
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--precision", help="the script's own choice")
parser.add_argument("--resume", help="checkpoint to continue from")
parser.add_argument("--validate", type=int, default=16, help="samples of the validation")
parser.add_argument("--folder", default="lightning")
options = parser.parse_args()
L = importlib.import_module(options.package)


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            *(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()),
            *(nn.Conv2d(8, 16, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
            nn.Linear(16, 4),
        )
        self.types = {True: set(), False: set()}  # by training
        self.net[0].register_forward_hook(
            lambda part, args, out: self.types[part.training].add(str(out.dtype))
        )

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, number):
        out = self(batch[0])
        loss = nn.functional.cross_entropy(out, batch[1])
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, number):
        out = self(batch[0])
        self.log("val_loss", nn.functional.cross_entropy(out, batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), 1e-3)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.9)]


def samples(count, seed):
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 4, (count,), generator=draw)
    images = torch.rand(count, 3, 16, 16, generator=draw) + labels.view(-1, 1, 1, 1) / 4
    return TensorDataset(images, labels)


L.seed_everything(0, verbose=False)
model = Classifier()
saves = L.callbacks.ModelCheckpoint(f"{options.folder}/checkpoints", save_last=True)
chosen = {"precision": options.precision} if options.precision else {}
trainer = L.Trainer(
    max_steps=options.steps,
    accelerator="cpu",
    logger=L.loggers.CSVLogger(options.folder),
    callbacks=[saves],
    accumulate_grad_batches=options.accumulate,
    log_every_n_steps=5,
    enable_progress_bar=False,
    enable_model_summary=False,
    **chosen,
)
trainer.fit(
    model,
    DataLoader(samples(96, 1), 8, shuffle=True),
    DataLoader(samples(options.validate, 2), 8),
    ckpt_path=options.resume,
)
print("train", *sorted(model.types[True]), "val", *sorted(model.types[False]))
print("precision", trainer.precision, "steps", trainer.global_step)
