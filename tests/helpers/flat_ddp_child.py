"""One rank of DDP over gloo on the CPU: python -m tests.helpers.flat_ddp_child RANK WORLD FOLDER

Every case trains with and without flat parameters. The weights of both runs are written to
FOLDER/RANK.pt.
"""

import os
import sys

import torch
import torch.distributed as dist
import tundish

from tests.helpers.flat_models import SGD, net, values

# (arguments of DistributedDataParallel, how the loop clears gradients) of each case.
CASES = {
    "copied": ({}, "optimizer"),
    "copied, kept": ({}, "memset"),
    "copied, by the model": ({}, "model"),
    "bucket view": ({"gradient_as_bucket_view": True}, "optimizer"),
    "bucket view, kept": ({"gradient_as_bucket_view": True}, "memset"),
    "bucket view, by the model": ({"gradient_as_bucket_view": True}, "model"),
    "static graph": ({"static_graph": True}, "optimizer"),
    "static graph, bucket view": (
        {"static_graph": True, "gradient_as_bucket_view": True},
        "optimizer",
    ),
    "unused": ({"find_unused_parameters": True}, "optimizer"),
}


def clear(how, model, optimizer):
    if how == "model":
        model.zero_grad()
    else:
        optimizer.zero_grad(set_to_none=how == "optimizer")


def train(case, rank, flatten):
    """Trains with two micro-batches per step. `flatten` names the model to flatten, or is ""."""
    arguments, how = CASES[case]
    bare = net()
    flat = tundish.optim.flatten(bare) if flatten == "bare" else None
    model = torch.nn.parallel.DistributedDataParallel(bare, bucket_cap_mb=0.001, **arguments)
    flat = tundish.optim.flatten(model) if flatten == "wrapped" else flat
    kind, options = SGD
    optimizer = flat.optimizer(kind, **options) if flat else kind(model.parameters(), **options)
    torch.manual_seed(rank)
    accumulates = "static" not in case
    for _ in range(10):
        clear(how, model, optimizer)
        if accumulates:
            with model.no_sync():
                model(torch.randn(5, 10)).square().mean().backward()
        model(torch.randn(5, 10)).square().mean().backward()
        optimizer.step()
    if flat:
        flat.check()
        begin = flat.buffers[0].gradient.data_ptr()
        assert bare[0].weight.grad.data_ptr() == begin, "the gradient is not in the buffer"
    return values(bare)


def main(rank, world, folder):
    torch.set_num_threads(1)  # two ranks share the cores
    dist.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=world)
    out = {
        case: {flatten: train(case, rank, flatten) for flatten in ("", "bare", "wrapped")}
        for case in CASES
    }
    torch.save(out, os.path.join(folder, f"{rank}.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
