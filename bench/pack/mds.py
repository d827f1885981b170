"""MosaicML's MDSWriter: the files' bytes in shards, without compression or hashes."""

from pathlib import Path

from streaming import MDSWriter

from .writing import Writing, run


def write(job: Writing) -> None:
    columns = {"image": "bytes", "label": "int"}
    with MDSWriter(out=job.target, columns=columns, compression=None, hashes=None) as out:
        for file in job.files:
            out.write({"image": Path(file).read_bytes(), "label": job.label_of(file)})


if __name__ == "__main__":
    run(write)
