"""SPDL: threads in one process, with FFmpeg's decoder, and crop, scale and flip as one filter."""

import numpy as np
import spdl.io
from spdl.pipeline import PipelineBuilder

from ..common.process import Job, draw_batches, run


def batches(job: Job):
    crops = np.load(job.draws)

    def decode(draw: int):
        x, y, width, height, mirrored = crops[draw].tolist()
        steps = [f"crop={width}:{height}:{x}:{y}:exact=1", "scale=224:224:flags=bilinear"]
        steps += ["hflip"] if mirrored else []
        packets = spdl.io.demux_image(job.files[draw % job.count])
        steps = ",".join([*steps, "format=pix_fmts=rgb24"])
        return spdl.io.decode_packets(packets, filter_desc=steps), draw

    def collect(samples):
        frames = [frame for frame, _ in samples]
        draws = np.array([draw for _, draw in samples])
        return spdl.io.to_numpy(spdl.io.convert_frames(frames)), draws

    flat = [draw for batch in draw_batches(job) for draw in batch]
    pipeline = (
        PipelineBuilder()
        .add_source(flat)
        .pipe(decode, concurrency=job.threads, output_order="input")
        .aggregate(job.batch)
        .pipe(collect)
        .add_sink(2)
        .build(num_threads=job.threads)
    )
    with pipeline.auto_stop():
        yield from pipeline.get_iterator()


if __name__ == "__main__":
    run(batches)
