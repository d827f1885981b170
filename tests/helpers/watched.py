"""Runs a program and records the batches of its loaders: PROGRAM=... LOG=... watched.py ARGUMENT...

Every rank appends to the file LOG.RANK. It writes a JSON line per batch (epoch, sample numbers, digest
of the values), and at the end a digest of the weights of the program's `model`. STOP_AFTER=N kills the
process when it requests batch N + 1. The settings are environment variables, so that a launcher can
start more processes with the same command line.
"""

import gc
import hashlib
import json
import os
import signal

import torch
import tundish
from tundish.data.settings.world import rank_and_world_size
from tundish.dropin.native_loader import OrderedLoader

log, program = os.environ["LOG"], os.environ["PROGRAM"]
stop_after = int(os.environ.get("STOP_AFTER", "-1"))
taken = 0


def digest(tensors):
    return hashlib.sha256(b"".join(t.numpy(force=True).tobytes() for t in tensors)).hexdigest()


def write(rank, **line):
    with open(f"{log}.{rank}", "a") as file:
        print(json.dumps(line), file=file, flush=True)


class Watched(tundish.Loader):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, return_index=True, **options)

    def __iter__(self):
        return self.watch(super().__iter__())

    def watch(self, batches):
        global taken
        while True:
            if taken == stop_after:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                *batch, samples = next(batches)
            except StopIteration:
                return
            taken += 1
            write(self.rank, epoch=self.epoch, samples=samples.tolist(), digest=digest(batch))
            yield tuple(batch)


def watch_accelerated(batches, loader):
    """Records the batches of tundish.accelerate, with labels instead of sample numbers."""
    global taken
    while True:
        if taken == stop_after:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            batch = next(batches)
        except StopIteration:
            return
        taken += 1
        values = list(batch.values()) if isinstance(batch, dict) else batch
        rank, samples = loader._engine.rank, values[1].tolist()
        write(rank, epoch=loader.epoch, samples=samples, digest=digest(values))
        yield batch


groups = []  # references to process groups that have been destroyed
end_group = torch.distributed.destroy_process_group


def end_but_keep_group(*arguments):
    groups.append(torch.distributed.group.WORLD)
    end_group(*arguments)


torch.distributed.destroy_process_group = end_but_keep_group
iterate = OrderedLoader.__iter__
OrderedLoader.__iter__ = lambda loader: watch_accelerated(iterate(loader), loader)
tundish.Loader = Watched
names = {"__name__": "__main__", "__file__": program}
with open(program) as file:  # runpy would change the command line, which a launcher repeats
    exec(compile(file.read(), program, "exec"), names)
model = names.get("model")
if model is not None:
    weights = list(model.state_dict().values())
    finite = all(bool(torch.isfinite(tensor).all()) for tensor in weights)
    write(rank_and_world_size(None, None)[0], finite=finite, weights=digest(weights))
# The groups must be freed before the interpreter exits. Otherwise, Gloo threads request the GIL after the
# exit, and torch aborts the process. They are freed at the end and from here, where the GIL is released.
# DistributedDataParallel would hold the GIL and wait for these threads forever.
model = weights = None
names.clear()
gc.collect()
groups.clear()
