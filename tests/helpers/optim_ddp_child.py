"""One rank of runs over gloo on the CPU: python -m tests.helpers.optim_ddp_child RANK WORLD FOLDER

FOLDER/RANK.pt gets the weights after training with every optimiser under DistributedDataParallel, and
what an optimiser says to a model under fully_shard().
"""

import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from tundish import optim

from tests.helpers.optim_models import loss_of, mlp, weights
from tests.optim.every import EVERY, make

THEIRS = ("SGD", "Adam", "AdamW")


def train(rank, make_optimizer, **arguments):
    model = DistributedDataParallel(mlp(), bucket_cap_mb=0.001, **arguments)
    optimizer = make_optimizer(model.parameters())
    for step in range(20):
        optimizer.zero_grad()
        loss_of(model, "mlp", 2 * step + rank).backward()
        optimizer.step()
    return weights(model)


def refusal(rank):
    """fully_shard() makes every parameter a DTensor: a part of it is here, the rest on other ranks."""
    model = mlp()
    fully_shard(model, mesh=dist.init_device_mesh("cpu", (2,)))
    optimizer = optim.AdamW(model.named_parameters())
    loss_of(model, "mlp", rank).backward()
    before = [p.to_local().clone() for p in model.parameters()]
    try:
        optimizer.step()
        text = "no error"
    except ValueError as error:
        text = str(error)
    assert all(
        torch.equal(a, p.to_local()) for a, p in zip(before, model.parameters(), strict=True)
    )
    return text


def main(rank, world, folder):
    torch.set_num_threads(1)  # two ranks share the cores
    dist.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=world)
    out = {name: train(rank, lambda p, name=name: make(name, p)) for name in EVERY}
    for name in ("AdamW", "LAMB"):
        out[name + ", bucket view"] = train(
            rank, lambda p, name=name: make(name, p), gradient_as_bucket_view=True
        )
    for name in THEIRS:
        cls = getattr(torch.optim, name)
        out["torch's " + name] = train(rank, lambda p, c=cls, name=name: c(p, **EVERY[name]))
    out["refusal"] = refusal(rank)
    torch.save(out, os.path.join(folder, f"{rank}.pt"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
