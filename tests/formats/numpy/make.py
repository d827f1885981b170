"""Writes the files of this folder with NumPy; not run in CI. Content: ../pth/expected.npz."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def main():
    expected = np.load(HERE.parent / "pth" / "expected.npz")
    images, labels, scores = (expected[name] for name in ("images", "labels", "scores"))
    np.save(HERE / "plain.npy", images)
    np.save(HERE / "fortran.npy", np.asfortranarray(images))
    for version in ((2, 0), (3, 0)):
        with (HERE / f"version{version[0]}.npy").open("wb") as file:
            np.lib.format.write_array(file, images, version)
    for name in ("plain", "fortran", "version2", "version3"):
        np.save(HERE / f"{name}_labels.npy", labels.astype(">i4" if name == "fortran" else "<i8"))
    named = {"x": images, "y": labels, "scores": scores, "swapped": scores.astype(">f4")}
    np.savez(HERE / "stored.npz", **named)
    np.savez_compressed(HERE / "deflated.npz", **named)


if __name__ == "__main__":
    main()
