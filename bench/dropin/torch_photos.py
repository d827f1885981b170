"""The original script: ImageFolder and torch's DataLoader."""

from ..common.process import run
from .script import epochs, of_photos

if __name__ == "__main__":
    run(lambda job: epochs(of_photos(job), job))
