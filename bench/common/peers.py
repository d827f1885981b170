"""Installs the libraries that benchmarks compare with, each in its own environment, build/peers/NAME.

An environment also sees the packages that ./dev installs, so that torch is installed only once. ./dev
installs the Debian packages that some of the libraries need (peer_packages).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .rows import ROOT, say


@dataclass(frozen=True)
class Peer:
    package: str  # name and version for pip
    needs: tuple[str, ...] = ()  # requirements to install instead of the declared ones


# MDS declares the clients of every cloud as requirements. FFCV is only published as source and requires
# opencv-python; the headless package suffices, and the build needs no other packages.
PEERS = {
    "dali": Peer("nvidia-dali-cuda130==2.4.0"),
    "tensorflow": Peer("tensorflow-cpu==2.21.0"),
    "ffcv": Peer(
        "ffcv==1.0.2",
        (
            "numba==0.68.1",
            "opencv-python-headless==4.11.0.86",
            "terminaltables==3.1.10",
            "fastargs==1.2.0",
            "assertpy==1.1",
            "tqdm==4.70.1",
            "psutil==7.2.2",
            "pytorch-pfn-extras==0.9.0",
            "setuptools==80.9.0",
        ),
    ),
    "tfrecord": Peer("tfrecord==1.14.6"),
    "lmdb": Peer("lmdb==3.0.0"),
    "h5py": Peer("h5py==3.16.0"),
    "zarr": Peer("zarr==3.1.6"),
    "spdl": Peer("spdl==0.8.0"),
    "streaming": Peer(
        "mosaicml-streaming==0.13.0",
        (
            "transformers==5.22.2",
            "Brotli==1.2.1",
            "python-snappy==0.7.3",
            "zstd==1.5.7.2",
            "xxhash==4.1.0",
            "catalogue==2.0.10",
        ),
    ),
    "webdataset": Peer("webdataset==1.0.2"),
    "albumentations": Peer(
        "albumentations==2.0.8",
        (
            "albucore==0.0.24",
            "opencv-python-headless==4.11.0.86",
            "stringzilla==5.3.2",
            "simsimd==6.5.16",
            "pydantic==2.14.3",
            "pyyaml==6.0.3",
            "scipy==1.17.1",
        ),
    ),
}


def folder_of(name: str) -> Path:
    return Path(os.environ.get("TUNDISH_PEERS", ROOT / "build" / "peers")) / name


def python_of(name: str) -> Path | None:
    """Returns the interpreter of an installed library, or None if the library is not installed."""
    folder = folder_of(name)
    return folder / "bin" / "python" if (folder / "done").exists() else None


def install(name: str) -> None:
    """Installs a library if needed. Raises CalledProcessError on failure; NAME.log has pip's output."""
    peer, folder = PEERS[name], folder_of(name)
    behind = sysconfig.get_paths()["purelib"]
    wanted = "\n".join([peer.package, *peer.needs, behind])
    done = folder / "done"
    if done.exists() and done.read_text() == wanted:
        return
    say(f"installing {name}")
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    (next(folder.glob("lib/python*/site-packages")) / "behind.pth").write_text(behind + "\n")
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--ignore-installed"]
    with open(folder.with_suffix(".log"), "w") as log:
        if peer.needs:
            subprocess.run([*pip, *peer.needs], check=True, stdout=log, stderr=log)
            pip += ["--no-deps", "--no-build-isolation"]
        subprocess.run([*pip, peer.package], check=True, stdout=log, stderr=log)
    done.write_text(wanted)


def install_all(names: Iterable[str]) -> None:
    """Installs all libraries. Prints the names of libraries that fail, and continues."""
    for name in names:
        try:
            install(name)
        except subprocess.CalledProcessError as error:
            say(f"bench: {name} could not be installed ({error}); see {folder_of(name)}.log")


def versions(names: Iterable[str]) -> dict[str, str]:
    """Returns the versions of the installed libraries."""
    return dict(PEERS[name].package.split("==") for name in names if python_of(name))
