"""FFCV's DatasetWriter as its ImageNet example calls it: at most 512 pixels a side, quality 90."""

from .ffcv_jpg import write
from .writing import run

if __name__ == "__main__":
    run(lambda job: write(job, 512))
