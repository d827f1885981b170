"""Installs a wheel in a new environment outside the checkout, and checks that it works there."""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

USE = """
import json, pathlib, subprocess, sys
import numpy
import tundish
assert "site-packages" in tundish.__file__, tundish.__file__
program = pathlib.Path(sys.executable).parent / "tundish"
folder = pathlib.Path("set/cat")
folder.mkdir(parents=True)
for i in range(8):
    numpy.save(folder / f"{i}.npy", numpy.full((8, 8, 3), i, dtype=numpy.uint8))
subprocess.run([program, "pack", "set", "-o", "set.tnd", "--quiet"], check=True)
subprocess.run([program, "verify", "set.tnd", "--pixels", "--quiet"], check=True)
info = json.loads(subprocess.run([program, "info", "set.tnd", "--json"], check=True, capture_output=True).stdout)
assert info["records"] == 8, info
batches = [numpy.asarray(images) for images, labels in tundish.Loader("set.tnd", batch_size=4)]
assert sorted(int(image.max()) for batch in batches for image in batch) == list(range(8))
from tundish.boosting.trials.write_guard import check_guard
check_guard([sys.executable], pathlib.Path.cwd())
"""


def main(wheel: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / "bin" / "python"
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel]
        subprocess.run(pip, check=True, env=env)
        program = [folder / "env" / "bin" / "tundish", "--version"]
        version = subprocess.run(program, check=True, capture_output=True, text=True).stdout
        subprocess.run([python, "-c", USE], check=True, cwd=folder, env=env)
    size = wheel.stat().st_size / 1e6
    print(f"wheel: {wheel.name}, {size:.1f} MB, installed and used: {version.strip()}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
