"""A user's dataset in torch's DataLoader."""

from ..common.process import run
from .script import epochs, of_readings

if __name__ == "__main__":
    run(lambda job: epochs(of_readings(job), job))
