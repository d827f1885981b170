"""FFCV's DatasetWriter as in its ImageNet example: sides of at most 512 pixels, JPEG quality 90."""

from .ffcv_jpg import write
from .writing import run

if __name__ == "__main__":
    run(lambda job: write(job, 512))
