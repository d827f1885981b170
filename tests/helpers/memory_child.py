"""Runs loaders in separate processes. Reads runs as JSON lines and prints the memory of each run.

Every run is a fork of this process, which has imported all modules but created no objects. The peak is
the kernel's VmHWM. It is reset before the loader is created, so no peak is missed. Library pages that
the fork maps again are counted as memory of the loader. With --once, this process itself makes one run.
"""

import json
import os
import resource
import sys
import warnings

import numpy as np  # noqa: F401  must be in memory before the loader is created
import tundish
from tundish import transforms as T

MIB = 1 << 20


def status(name: str) -> int:
    with open("/proc/self/status") as file:
        (line,) = [line for line in file if line.startswith(name + ":")]
    return int(line.split()[1]) * 1024


def limit_address_space(run: dict) -> None:
    # Each thread has a stack, and malloc reserves 128 MiB of addresses (not memory) per thread. The
    # cache keeps its addresses after it has freed its memory.
    room = run["memory"] + 256 * MIB + (run["threads"] + 1) * (8 + 128) * MIB
    if run["cache"]:
        room += run["memory"]
    limit = status("VmSize") + room
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def do(run: dict) -> dict:
    warnings.simplefilter("ignore")
    transforms = [getattr(T, name)(*words) for name, *words in run["transforms"]]
    if run.get("limit_address_space"):
        limit_address_space(run)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = status("VmRSS")
    out: dict = {"images": 0, "bad": [], "refused": "", "hits": 0}
    try:
        loader = tundish.Loader(
            run["path"],
            run["batch_size"],
            transforms=transforms,
            threads=run["threads"],
            prefetch=run["prefetch"],
            memory=run["memory"] if run["counted"] else None,
            cache=run["cache"],
            exif_orientation=run["exif_orientation"],
            images_as=run.get("images_as", "tensor"),
            shuffle=True,
            seed=run["seed"],
            on_error="skip",
            backend="numpy",
        )
    except tundish.Error as error:
        out["refused"] = error.code
    else:
        with loader:
            for _ in range(run["epochs"]):
                try:
                    for images, _labels in loader:
                        out["images"] += len(images)
                except tundish.Error as error:  # not even one image fits into the budget
                    out["bad"].append(error.code)
            out["bad"] += [bad["code"] for bad in loader.bad_samples()]
            out["used"] = loader.stats()["data/memory_used"]
            out["hits"] = loader.stats()["data/cache_hits"]
    out["grown"] = status("VmHWM") - before
    return out


def do_in_a_fork(run: dict) -> dict:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            with os.fdopen(writing, "w") as file:
                file.write(json.dumps(do(run)))
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        said = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return dict(json.loads(said)) if code == 0 else {"rc": code, "text": said}


def main() -> None:
    if sys.argv[1:2] == ["--once"]:
        print(json.dumps(do(json.loads(sys.argv[2]))))
        return
    for line in sys.stdin:
        print(json.dumps(do_in_a_fork(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
