"""Scripts in many shapes. Each appends its losses to the global list `losses`."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shape:
    files: dict[str, str | bytes]  # the script first
    expected: tuple[str, ...] = ()  # code of the patch
    changes: tuple[str, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)


HEAD = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(64, 3, 8, 8), torch.randint(0, 4, (64,)))
losses = []
"""
NET = """

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.head = nn.Linear(144, 4)

    def forward(self, x):
        return self.head(F.relu(self.conv(x)).flatten(1))


"""
PLAIN = (
    HEAD
    + NET
    + """\
loader = DataLoader(data, batch_size=8)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    out = model(x)
    loss = F.cross_entropy(out, y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
"""
)
FUNCTIONS = (
    '"""Trains."""\nfrom __future__ import annotations\n'
    + HEAD
    + NET
    + """\
def train_epoch(net, loader, opt, criterion):
    net.train()
    for step, (x, y) in enumerate(loader):
        opt.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.item())


def main():
    loader = DataLoader(
        data,
        batch_size=8,
        num_workers=0,  # for debugging
    )
    test_loader = DataLoader(data, batch_size=16)
    model = Net().to("cpu")
    opt = torch.optim.AdamW(
        model.parameters(),
        lr=1e-3,
    )
    for epoch in range(2):
        train_epoch(model, loader, opt, nn.CrossEntropyLoss())


if __name__ == "__main__":
    main()
"""
)
TRAINER = (
    HEAD
    + NET
    + """\
class Trainer:
    def __init__(self, options):
        self.model = Net()
        self.loader = DataLoader(data, **options)
        self.optimizer = torch.optim.Adam([
            {"params": self.model.conv.parameters(), "lr": 1e-2},
            {"params": self.model.head.parameters()},
        ])

    def fit(self):
        for x, y in self.loader: self.step(x, y)

    def step(self, x, y):
        self.optimizer.zero_grad()
        logits = self.model(
            x,
        )
        loss = F.cross_entropy(
            logits, y)
        loss.backward(); self.optimizer.step()
        losses.append(loss.item())


Trainer({"batch_size": 8}).fit()
"""
)
GAN = (
    HEAD
    + """\
generator = nn.Sequential(nn.Conv2d(2, 4, 1), nn.ReLU(), nn.Conv2d(4, 3, 1))
critic = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 1))
loader = DataLoader(data, batch_size=8)
opt_c, opt_g = torch.optim.Adam(critic.parameters(), 1e-3), torch.optim.Adam(generator.parameters(), 1e-3)
for real, _ in loader:
    noise = torch.randn(8, 2, 8, 8)
    fake = generator(noise)
    opt_c.zero_grad()
    loss_c = critic(fake.detach()).mean() - critic(real).mean()
    loss_c.backward()
    opt_c.step()
    opt_g.zero_grad()
    score = critic(generator(noise))
    loss_g = -score.mean()
    loss_g.backward()
    opt_g.step()
    losses += [loss_c.item(), loss_g.item()]
"""
)
AUTOENCODER = (
    HEAD
    + """\
class Encoder(nn.Module):
    def __init__(self):
        super().__init__(); self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return self.conv(x), x.mean()

class Decoder(nn.Module):
    def __init__(self):
        super().__init__(); self.conv = nn.ConvTranspose2d(4, 3, 3)

    def forward(self, z):
        return self.conv(z)

encoder = Encoder()
decoder = Decoder()
parameters = list(encoder.parameters()) + list(decoder.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.1)
for (x, _) in DataLoader(data, batch_size=8):
    z, mean = encoder(x)
    restored = decoder(z)
    loss = F.mse_loss(restored, x) + 0 * mean
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    losses.append(loss.item())
"""
)
GROUPS = (
    HEAD
    + NET
    + """\
def make_optimizer(net):
    decay, rest = [], []
    for name, p in net.named_parameters():
        (decay if p.ndim > 1 else rest).append(p)
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest}]
    return torch.optim.AdamW(groups, lr=1e-3)

class Wrapper(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x):
        return self.net(x)

net = Wrapper()
loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=(0))
optimizer = make_optimizer(net)

def predict(x):
    return net(x)

for x, y in loader:
    optimizer.zero_grad()
    loss = F.cross_entropy(predict(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
"""
)
TABS = PLAIN.replace("    ", "\t").replace(
    "out = model(x)", "out = model(x) \\\n\t\t# odd".replace(" \\\n\t\t# odd", "  # çomment")
)
CRLF = PLAIN.replace("\n", "\r\n").encode()
LATIN = ("# -*- coding: latin-1 -*-\n# é\n" + PLAIN).encode("latin-1")
NO_NEWLINE = "\ufeff" + PLAIN.rstrip("\n")
FROZEN = (
    HEAD
    + NET
    + """\
model = Net()
for p in model.conv.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1, momentum=0.9)
loader = DataLoader(data, 8)
for x, y in loader:
    text = f'''
    {x.shape} of
  a batch'''; optimizer.zero_grad()
    loss = F.cross_entropy(model(x, **({} if '''
a
''' else {})), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
"""
)
CLOSURE = (
    HEAD
    + NET
    + """\
def run(lr=0.1, *, seed=1):
\tmodel, loader = Net(), DataLoader(dataset=data, batch_size=8, drop_last=True)
\tif lr > 0: optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr)
\tfor x, y in loader:
\t\tdef closure():
\t\t\toptimizer.zero_grad()
\t\t\tpredicted = model(x)
\t\t\tloss = F.cross_entropy(predicted, y)
\t\t\tloss.backward()
\t\t\treturn loss
\t\tlosses.append(optimizer.step(closure).item())
run()
"""
)
LIGHTNING_STYLE = (
    HEAD
    + """\
class Lit(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 4))

    def forward(self, x):
        return self.body(x)

    def training_step(self, batch, number):
        x, y = batch
        y_hat: torch.Tensor = self(x)
        return F.cross_entropy(y_hat, y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)

    def train_dataloader(self):
        return DataLoader(data, batch_size=8)

lit = Lit()
optimizer = lit.configure_optimizers()
for number, batch in enumerate(lit.train_dataloader()):
    loss = lit.training_step(batch, number)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    losses.append(loss.item())
"""
)
PACKAGE = {
    "train.py": """\
import sys
import torch
from lib.nets import build
from lib.feeding import batches
from lib import loop

losses = loop.fit(build(), batches(8))
""",
    "lib/nets.py": "import torch.nn as nn\n"
    + NET.replace("F.relu", "nn.functional.relu")
    + "def build():\n    net = Net()\n    return net\n",
    "lib/feeding.py": """\
from torch import randint, randn
import torch.utils.data as D

def batches(size):
    return D.DataLoader(D.TensorDataset(randn(64, 3, 8, 8), randint(0, 4, (64,))), size)
""",
    "lib/loop.py": """\
'''The loop.'''
from torch.optim import SGD as Optimizer
from torch.nn.functional import cross_entropy

def fit(net, loader):
    losses = []
    opt = Optimizer(net.parameters(), lr=0.1)
    for x, y in loader:
        if len(x):
            losses.append(one_step(net, opt, x, y))
    return losses

def one_step(net, opt, x, y):
    opt.zero_grad()
    scores = net(x)
    loss = cross_entropy(scores, y)
    loss.backward()
    opt.step()
    return loss.item()
""",
}
OUTPUTS = (
    PLAIN.replace("F.relu(self.conv(x)).flatten(1))", "F.relu(self.conv(x)).flatten(1))[:, None]")
    .replace("    out = model(x)\n", "    out = F.log_softmax(model(x).squeeze(1), dim=1)\n")
    .replace("cross_entropy", "nll_loss")
)
DICT = PLAIN.replace(
    "return self.head(F.relu(self.conv(x)).flatten(1))",
    """x = self.conv(x)
        return {"out": self.head(F.relu(x).flatten(1)), "aux": x}""",
).replace(
    "    out = model(x)\n",
    """    outputs = model(x)
    out = outputs["out"] + model(x)["out"]
    out = model(x)["out"]
""",
)
AUTOMATIC = {
    "outputs in functions": Shape({"train.py": OUTPUTS}, ("+    out = out.float()\n",)),
    "dict of outputs": Shape(
        {"train.py": DICT},
        (
            "+    outputs = {key: part.float() for key, part in outputs.items()}",
            "out = out.float()",
        ),
    ),
    "plain loop": Shape({"train.py": PLAIN}, ("model.compile(dynamic=False)",)),
    "functions": Shape(
        {"train.py": FUNCTIONS},
        ("+            loss = criterion(net(x), y)", "+        fused=True,\n"),
    ),
    "trainer class": Shape(
        {"code/train it.py": TRAINER},
        ('DataLoader(data, **{**options, "num_workers": 0})', "self.model.compile("),
    ),
    "gan": Shape(
        {"train.py": GAN},
        ("generator._compiled_call_impl = ", "critic.to(memory", "score = score.float()"),
    ),
    "two models": Shape(
        {"train.py": AUTOENCODER}, ("z, mean = z.float(), mean.float()", "decoder.compile(")
    ),
    "parameter groups": Shape({"train.py": GROUPS}, ("return net(x).float()", "+    net.compile(")),
    "tabs": Shape({"train.py": TABS}, ("+\t\tout = model(x)  # çomment",)),
    "CRLF": Shape({"train.py": CRLF}, ("+    out = out.float()\r\n",)),
    "latin-1": Shape({"train.py": LATIN}),
    "no newline at the end": Shape({"träin.py": NO_NEWLINE}),
    "frozen weights": Shape({"train.py": FROZEN}, ("+model.compile(", "DataLoader(data, 8, num_w")),
    "closure": Shape(
        {"train.py": CLOSURE}, ("if lr > 0: model.to(memory_format=torch.channels_last); ",)
    ),
    "lightning style": Shape({"train.py": LIGHTNING_STYLE}, ("y_hat = y_hat.float()", "self.comp")),
    "package": Shape(PACKAGE, ("+++ b/lib/loop.py", "+++ b/lib/feeding.py", "+import torch")),
}
