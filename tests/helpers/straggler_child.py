"""One rank of a DDP run over gloo, watched by the doctor.

python -m tests.helpers.straggler_child RANK WORLD FOLDER
Rank 1 reads from slow storage. The doctor's facts are written to FOLDER/RANK.pt.
"""

import os
import sys
from dataclasses import asdict

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

from tests.helpers.plants import Samples, Slow, SlowStorage, train, watched


def main(rank, world, folder):
    dist.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=world)
    data = SlowStorage() if rank == 1 else Samples()
    torch.save(asdict(facts_of(data)), os.path.join(folder, f"{rank}.pt"))
    dist.destroy_process_group()


def facts_of(data):
    """Trains and returns the facts. The model is freed on return, before the process group is destroyed."""
    with watched() as session:
        model = torch.nn.parallel.DistributedDataParallel(Slow())
        train(DataLoader(data, 4), model, session=session)
    return session.end()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
