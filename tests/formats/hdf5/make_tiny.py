"""Writes tiny.zip: small h5py files that claim huge contents; not run in CI.

From the repository's root: python -m tests.formats.hdf5.make_tiny
"""

import tempfile
import zipfile
from pathlib import Path

from tests.siege import tiny_files

FOLDER = Path(__file__).parent
FILES = 60
MAX_BYTES = 20_000


def main():
    archive = zipfile.ZipFile(FOLDER / "tiny.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9)
    with archive, tempfile.TemporaryDirectory() as made:
        for seed in range(FILES):
            path = tiny_files.make("hdf5", seed, Path(made) / str(seed))
            if path.stat().st_size <= MAX_BYTES:
                name = zipfile.ZipInfo(f"{seed:02}/a.h5")
                archive.writestr(name, path.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
