"""One rank of runs over gloo on the CPU: python -m tests.helpers.optim_ddp_child RANK WORLD FOLDER

Trains with every optimizer under DistributedDataParallel, and with some optimizers under
FullyShardedDataParallel. Writes the weights to FOLDER/RANK.pt, with the error messages of optimizers
that refuse sharded parameters.
"""

import functools
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from tundish import optim

from tests.helpers.optim_models import loss_of, mlp, weights
from tests.optim.every import ELEMENTWISE, EVERY, make

THEIRS = ("SGD", "Adam", "AdamW")


def train(rank, make_optimizer, **arguments):
    model = DistributedDataParallel(mlp(), bucket_cap_mb=0.001, **arguments)
    optimizer = make_optimizer(model.parameters())
    for step in range(20):
        optimizer.zero_grad()
        loss_of(model, "mlp", 2 * step + rank).backward()
        optimizer.step()
    return weights(model)


def train_with_seed_of_rank(rank):
    """Trains 16-bit weights with stochastic rounding, in a script that seeds every rank differently."""
    model = DistributedDataParallel(mlp().bfloat16())
    torch.manual_seed(rank)
    optimizer = optim.AdamW(model.parameters(), stochastic_rounding=True)
    for step in range(20):
        optimizer.zero_grad()
        inputs = torch.randn(8, 12, generator=torch.Generator().manual_seed(2 * step + rank))
        model(inputs.bfloat16()).float().square().mean().backward()
        optimizer.step()
    return weights(model)


def refused_by_zero(name, **more):
    """Returns the error for an optimizer that clips by the norm of one process's part."""
    kind = functools.partial(make, name, **more)
    try:
        ZeroRedundancyOptimizer(mlp().parameters(), optimizer_class=kind)
    except ValueError as error:
        return str(error)
    return "no error"


def make_sharded():
    """Returns a sharded model, in which each rank has a part of the weights as plain 1-D tensors."""
    return FullyShardedDataParallel(mlp(), use_orig_params=True, device_id=torch.device("cpu"))


def train_sharded(rank, make_optimizer):
    model = make_sharded()
    optimizer = make_optimizer(model.parameters())
    for step in range(20):
        optimizer.zero_grad()
        loss_of(model, "mlp", 2 * step + rank).backward()
        optimizer.step()
    with FullyShardedDataParallel.summon_full_params(model):
        return weights(model)


def refused_sharded(rank, name, scaler=None, **more):
    model = make_sharded()
    optimizer = make(name, model.named_parameters(), **more)
    loss = loss_of(model, "mlp", rank)
    (scaler.scale(loss) if scaler else loss).backward()
    try:
        scaler.step(optimizer) if scaler else optimizer.step()
    except ValueError as error:
        return str(error)
    return "no error"


def refusal(rank):
    """Returns the error after fully_shard(), which turns every parameter into a DTensor."""
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
        out["torch's sharded " + name] = train_sharded(
            rank, lambda p, c=cls, name=name: c(p, **EVERY[name])
        )
    for name in ELEMENTWISE:
        out["sharded " + name] = train_sharded(rank, lambda p, name=name: make(name, p))
    out["stochastic rounding"] = train_with_seed_of_rank(rank)
    out["refusal"] = refusal(rank)
    out["zero LAMB"] = refused_by_zero("LAMB", max_grad_norm=1.0)
    out["zero max_norm"] = refused_by_zero("AdamW", max_norm=1.0)
    out["zero AdamW"] = refused_by_zero("AdamW")
    out["refused LAMB"] = refused_sharded(rank, "LAMB")
    out["refused max_norm"] = refused_sharded(rank, "AdamW", max_norm=1.0)
    out["refused scaler"] = refused_sharded(rank, "AdamW", scaler=optim.GradScaler("cpu"))
    torch.save(out, os.path.join(folder, f"{rank}.pt"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
