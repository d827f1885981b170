"""The script with one line changed, on unchanged files."""

import tundish

from ..common.process import run
from .script import epochs, of_photos

if __name__ == "__main__":
    run(lambda job: epochs(tundish.accelerate(of_photos(job), threads=job.threads), job))
