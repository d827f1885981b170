"""Builds a wheel from an sdist, in a new environment outside the checkout.

Usage: python tools/try_sdist.py FILE.tar.gz. The conditions are the same as for a user who has the
Debian packages and network access: pip downloads the build dependencies and compiles the sources.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path


def main(sdist: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / "bin" / "python"
        env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        pip = [python, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "-w", folder, sdist], check=True, cwd=folder, env=env)
        (wheel,) = folder.glob("tundish-*.whl")
        print(f"sdist: {sdist.name} gives {wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
