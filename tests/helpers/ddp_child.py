"""One rank of a DDP run over gloo on the CPU: python -m tests.helpers.ddp_child RANK WORLD FOLDER

Every case trains on the rank's share of each batch. The weights and other results are written to
FOLDER/RANK.pt.
"""

import os
import sys

import torch
import torch.distributed as dist
from tundish.tuning.fingerprint import fingerprint_of
from tundish.tuning.plan import Plan
from tundish.tuning.step import Step
from tundish.tuning.tricks.accumulate import Accumulate
from tundish.tuning.tricks.checkpointing import Checkpointing
from tundish.tuning.tricks.ddp import DdpOptions

from tests.helpers.tuning_reports import image_model

CASES = {
    "plain": [],
    "accumulate": [Accumulate(3)],
    "bucket view": [DdpOptions()],
    "static": [DdpOptions(gradient_as_bucket_view=True, static_graph=True)],
    "static, checkpointing": [DdpOptions(True, True), Checkpointing(("module.1",))],
    "bucket view, accumulate": [DdpOptions(), Checkpointing(("module.1",)), Accumulate(2)],
}


def model_of():
    torch.manual_seed(0)
    layers = [torch.nn.Linear(6, 16), torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh())]
    return torch.nn.Sequential(*layers, torch.nn.Linear(16, 3)).double()


def batches_of(samples=24, count=3):
    torch.manual_seed(9)
    return [
        (torch.randn(samples, 6, dtype=torch.float64), torch.randint(3, (samples,)))
        for _ in range(count)
    ]


def count_reductions(model):
    """Counts gradient reductions with DDP's communication hook, called once per bucket and step."""
    sent = []

    def hook(_, bucket):
        sent.append(bucket.index())
        future = torch.futures.Future()
        tensor = bucket.buffer().div_(dist.get_world_size())
        dist.all_reduce(tensor)
        future.set_result(tensor)
        return future

    model.register_comm_hook(None, hook)
    return sent


def run(case, rank, world):
    model = torch.nn.parallel.DistributedDataParallel(model_of(), bucket_cap_mb=1)
    step = Step(model, torch.optim.SGD(model.parameters(), 0.1, 0.9), torch.nn.CrossEntropyLoss())
    share = 24 // world
    batches = [
        tuple(part[rank * share : (rank + 1) * share] for part in batch) for batch in batches_of()
    ]
    for trick in CASES[case]:
        obstacle = trick.obstacle(step)
        assert not obstacle, obstacle
        trick.apply(step)
    during = step.model
    sent = count_reductions(model) if case == "accumulate" else []
    for batch in batches[:2]:
        step(batch)
    facts = {
        "wrapped anew": during is not model,
        "bucket view": during.gradient_as_bucket_view,
        "static": during.static_graph,
        "sent": len(sent) / max(1, len(set(sent))),
        "accumulating is": Accumulate(2).obstacle(step),
        "static is": DdpOptions(False, True).obstacle(step),
        "the same is": DdpOptions(during.gradient_as_bucket_view, during.static_graph).obstacle(
            step
        ),
    }
    for trick in reversed(CASES[case]):
        trick.undo(step)
    facts["undone"] = step.model is model and not step.kept
    step(batches[2])  # the step still works after undo
    return model.module.state_dict(), facts


def run_plan(rank):
    """Trains with a plan that was made for the model without DistributedDataParallel."""
    model = model_of()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, 0.9)
    made_for = fingerprint_of(model, optimizer, batches_of()[0])
    plan = Plan([Checkpointing(("1",)), Accumulate(2)], made_for, image_model())
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    step = plan.apply(parallel, optimizer, torch.nn.CrossEntropyLoss())
    for batch in batches_of():
        step(tuple(part[12 * rank : 12 * rank + 12] for part in batch))
    plan.undo()
    return model.state_dict()


def main(rank, world, folder):
    dist.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=world)
    out = {case: run(case, rank, world) for case in CASES} | {"plan": run_plan(rank)}
    torch.save(out, os.path.join(folder, f"{rank}.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
