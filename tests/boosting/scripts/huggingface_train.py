"""Hugging Face's Trainer on a small transformer, with evaluation and saving."""

import argparse

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--bf16", action="store_true", help="the script's own choice")
parser.add_argument("--optim", help="the script's own choice")
parser.add_argument("--resume", help="checkpoint to continue from")
parser.add_argument("--validate", type=int, default=16, help="samples of the validation")
parser.add_argument("--folder", default="huggingface")
options = parser.parse_args()


class Texts(torch.utils.data.Dataset):
    def __init__(self, count, seed):
        draw = torch.Generator().manual_seed(seed)
        self.words = torch.randint(2, 64, (count, 12), generator=draw)
        self.labels = (self.words[:, 0] > 32).long()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, number):
        return {"input_ids": self.words[number], "labels": self.labels[number]}


torch.manual_seed(0)
config = BertConfig(
    vocab_size=64,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=16,
)
model = BertForSequenceClassification(config)
types = {True: set(), False: set()}  # by training
layer = model.bert.encoder.layer[0].intermediate.dense
layer.register_forward_hook(lambda part, args, out: types[part.training].add(str(out.dtype)))
chosen = {"bf16": True} if options.bf16 else {}
chosen |= {"optim": options.optim} if options.optim else {}
arguments = TrainingArguments(
    options.folder,
    max_steps=options.steps,
    per_device_train_batch_size=8,
    gradient_accumulation_steps=options.accumulate,
    learning_rate=1e-3,
    eval_strategy="steps",
    eval_steps=20,
    save_steps=20,
    logging_steps=10,
    report_to=[],
    disable_tqdm=True,
    use_cpu=True,
    **chosen,
)
trainer = Trainer(model, arguments, None, Texts(96, 1), Texts(options.validate, 2))
trainer.train(resume_from_checkpoint=options.resume)
print("train", *sorted(types[True]), "val", *sorted(types[False]))
print("bf16", arguments.bf16, "optim", str(arguments.optim), "steps", trainer.state.global_step)
