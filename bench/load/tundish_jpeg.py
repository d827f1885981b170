"""The loader, from a pack with the JPEGs as they came: what re-coding is worth."""

from tundish_pack import batches, run

if __name__ == "__main__":
    run(lambda job: batches(job, job.jpeg_pack))
