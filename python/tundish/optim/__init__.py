"""Fused optimizers with the names, arguments and states of torch's and timm's optimizers.

Example:

    from tundish import optim

    optimizer = optim.AdamW(model.parameters(), lr=1e-3, max_norm=1.0, ema_decay=0.999)
"""

from .adam import Adam
from .adamw import AdamW
from .flat import FlatParameters, flatten
from .grad_scaler import GradScaler
from .lamb import LAMB, NVLAMB
from .lars import LARS
from .lion import Lion
from .muon import Muon
from .novograd import NovoGrad
from .sgd import SGD

__all__ = [
    "LAMB",
    "LARS",
    "NVLAMB",
    "SGD",
    "Adam",
    "AdamW",
    "FlatParameters",
    "GradScaler",
    "Lion",
    "Muon",
    "NovoGrad",
    "flatten",
]
