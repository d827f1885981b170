"""Trains with Hugging Face's Trainer: python examples/drop_in_trainer.py photos/ checkpoints/"""

import sys

import datasets
import torch
import transformers as hf
import tundish
from torch.utils.data import DataLoader
from torchvision.transforms import v2

folder, out = sys.argv[1:]
torch.manual_seed(0)
augment = v2.Compose([v2.RandomResizedCrop(32), v2.ToImage(), v2.ToDtype(torch.float32, True)])
photos = datasets.load_dataset("imagefolder", data_dir=folder, split="train", cache_dir=out)


def transform(batch):
    pixels = [augment(image.convert("RGB")) for image in batch["image"]]
    return {"pixel_values": pixels, "labels": batch["label"]}


loader = tundish.accelerate(DataLoader(photos.with_transform(transform), 8, shuffle=True))


class SavePlace(hf.TrainerCallback, hf.trainer_callback.ExportableState):
    def state(self):  # the Trainer saves this in every checkpoint
        return {"place": loader.state_dict()}

    def on_train_begin(self, args, state, *_, **__):
        loader.load_state_dict(state.stateful_callbacks["SavePlace"]["place"])


classes = photos.features["label"].num_classes
config = hf.ResNetConfig(hidden_sizes=[8, 8], depths=[1, 1], num_labels=classes)
args = hf.TrainingArguments(out, num_train_epochs=2, save_steps=3, ignore_data_skip=True)
trainer = hf.Trainer(hf.ResNetForImageClassification(config), args, callbacks=[SavePlace])
trainer.get_train_dataloader = lambda: loader
trainer.train(resume_from_checkpoint=hf.trainer_utils.get_last_checkpoint(out))
