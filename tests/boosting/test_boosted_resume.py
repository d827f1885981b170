"""A boosted script that is killed and resumed ends with the weights of one that was stopped cleanly."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import torch

SCRIPT = """
import os, sys
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision import transforms as T

last, stop = "last.pt", int(sys.argv[1])
torch.manual_seed(3)
augment = T.Compose([T.RandomResizedCrop(16), T.ToTensor()])
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(1568, 2))
optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
done = 0
if os.path.exists(last):
    saved = torch.load(last)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    done = saved["done"]
torch.manual_seed(done)  # also of the loader's order and of its random crops
loader = DataLoader(ImageFolder("photos", augment), 4, shuffle=True)
while done < stop:
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        done += 1
        if done % 3 == 0 or done == stop:
            saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "done": done}
            torch.save(saved, last + ".new")
            os.replace(last + ".new", last)
        if done == stop:
            break
"""
STEPS = 60


def boosted(folder, steps, **more):
    argv = [sys.executable, "-m", "tundish", "run", "--boost", "boost.json", "--"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    words = [*argv, sys.executable, "train.py", str(steps)]
    return subprocess.Popen(
        words,
        cwd=folder,
        env=environment,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **more,
    )


def saved_steps(folder):
    path = folder / "last.pt"
    return torch.load(path)["done"] if path.exists() else 0


def killed_run(folder, kills, draw):
    """Trains, is killed after some checkpoints, and resumes. Returns the steps of these checkpoints."""
    points = []
    for _ in range(kills):
        begin = saved_steps(folder)
        process = boosted(folder, STEPS)
        wanted = begin + 3 * draw.randint(1, 3)
        while process.poll() is None and saved_steps(folder) < wanted:
            time.sleep(0.002)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        points.append(saved_steps(folder))
        if points[-1] >= STEPS:
            return points
    assert boosted(folder, STEPS).wait() == 0
    return points


def weights(folder):
    saved = torch.load(folder / "last.pt")
    assert saved["done"] == STEPS
    states = saved["optimizer"]["state"]
    return [*saved["model"].values(), *(t for state in states.values() for t in state.values())]


def make_folder(folder, write_photos):
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT)
    write_photos(folder / "photos")
    torch.manual_seed(3)
    layers = torch.nn
    model = layers.Sequential(
        *(layers.Conv2d(3, 8, 3), layers.BatchNorm2d(8), layers.ReLU(), layers.Flatten()),
        layers.Linear(1568, 2),
    )
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    from tundish.boosting.inject.identities import model_identity, optimizer_identity

    names = ("channels_last", "bf16", "fused")
    values = {
        "format": 1,
        "script": "train.py",
        "digest": "",
        "gain": 1.0,
        "changes": [{"name": name, "value": ""} for name in names],
        "objects": {
            "models": [vars(model_identity(model))],
            "optimizers": [vars(optimizer_identity(optimizer))],
            "loader": None,
        },
    }
    (folder / "boost.json").write_text(json.dumps(values))


def check_resume(tmp_path, write_photos, kills, seed):
    killed, clean = tmp_path / "killed", tmp_path / "clean"
    for folder in (killed, clean):
        make_folder(folder, write_photos)
    points = killed_run(killed, kills, random.Random(seed))
    for point in [*points, STEPS]:
        assert boosted(clean, point).wait() == 0
    assert all(torch.equal(one, two) for one, two in zip(weights(killed), weights(clean)))
    return points


def write_photos(folder):
    from PIL import Image

    draw = random.Random(1)
    for kind in range(2):
        (folder / str(kind)).mkdir(parents=True)
        for number in range(16):
            color = tuple(draw.randrange(256) for _ in range(3))
            Image.new("RGB", (24, 20), color).save(folder / str(kind) / f"{number}.jpg")


def test_a_killed_and_resumed_run_ends_bit_for_bit_like_a_stopped_one(tmp_path):
    assert check_resume(tmp_path, write_photos, kills=2, seed=5)
