"""FFCV, from its own file: images resized to at most 512 pixels and stored as pixels."""

from .ffcv_jpeg import batches, run

if __name__ == "__main__":
    run(lambda job: ((images, index[:, 0]) for images, index in batches(job, "raw")))
