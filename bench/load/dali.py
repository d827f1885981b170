"""DALI on the CPU, with DALI's own reader, region decoder and antialiased resize."""

import numpy as np
from nvidia.dali import fn, pipeline_def, types

from ..common.process import Job, draw_batches, run


def batches(job: Job):
    order = list(draw_batches(job))
    crops = np.load(job.draws)
    flat = [draw for batch in order for draw in batch]

    def columns():
        for batch in order:
            x, y, width, height, mirrored = crops[batch].T.copy()
            yield np.stack([x, y], 1), np.stack([width, height], 1), mirrored

    @pipeline_def(batch_size=job.batch, num_threads=job.threads, device_id=None)
    def pipeline():
        files = [job.files[draw % job.count] for draw in flat]
        data, draws = fn.readers.file(files=files, labels=flat, name="reader")
        anchor, shape, mirrored = fn.external_source(columns, num_outputs=3)
        images = fn.decoders.image_slice(data, start=anchor, shape=shape, adjust_orientation=False)
        images = fn.resize(images, size=[224, 224], interp_type=types.INTERP_LINEAR, antialias=True)
        return fn.flip(images, horizontal=mirrored), draws

    pipe = pipeline()
    pipe.build()
    for _ in order:
        images, draws = pipe.run()
        yield images.as_array(), draws.as_array()[:, 0]


if __name__ == "__main__":
    run(batches)
