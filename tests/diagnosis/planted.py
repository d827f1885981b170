"""Reads the planted script and the clean twin of every check from `checks/TOPIC/ID.txt`.

The planted script precedes the line `=== clean`. `# found: ID, ID` marks the findings expected on a
line, and `# fix: TEXT` on the previous line is the fix that the finding must suggest. After `===
planted` another pair follows, for a special case. Each script begins with PRELUDE unless it begins
with `import torch`.
"""

import re
from pathlib import Path

from tundish.diagnosis.lint.check import check_source, choose
from tundish.diagnosis.script.source_text import read_source

FOLDER = Path(__file__).parent / "checks"
PRELUDE = """\
import random
import time
import lightning
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset
device = "cuda"
model = nn.Linear(8, 8).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.CrossEntropyLoss()
loader = DataLoader(data, batch_size=8, pin_memory=True)
"""


def files():
    return sorted(FOLDER.glob("*/*.txt"))


def pairs(file):
    """Returns each planted script with its clean twin."""
    return [
        tuple(
            text if text.startswith("import torch\n") else PRELUDE + text
            for text in pair.split("=== clean\n")
        )
        for pair in file.read_text().split("=== planted\n")
    ]


def scripts(file):
    """Returns the first planted script and its clean twin."""
    return pairs(file)[0]


def marked(text):
    """Returns the line and id of every mark, sorted."""
    return sorted(
        (number, name.strip())
        for number, line in enumerate(text.splitlines(), 1)
        for words in re.findall(r"# found: (.*)", line)
        for name in words.split(",")
    )


def fixes(text):
    """Returns the line and text of every fix that a script expects."""
    return [
        (number, words)
        for number, line in enumerate(text.splitlines(), 2)
        for words in re.findall(r"# fix: (.*)", line)
    ]


def findings(text, select=()):
    """Returns every finding, in text order."""
    source = read_source("train.py", text.encode())
    return check_source(source, choose(select, ()))[0]


def found(text, select=()):
    """Returns the line and id of every finding, sorted."""
    return sorted((one.line, one.check) for one in findings(text, select))
