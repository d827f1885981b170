"""A data set of Pillow and Python in torch's DataLoader: worker processes."""

from ..common.process import run
from .script import epochs, of_pictures

if __name__ == "__main__":
    run(lambda job: epochs(of_pictures(job), job))
