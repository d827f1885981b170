"""Serves the samples of a Python dataset to the program `tundish pack`, for `tundish.pack(dataset, ...)`.

sample_values   kinds of values: an image, an array, a string, ...
sample_fields   the fields of a dataset, and the encoding of their values
dataset_schema  finds the fields of a dataset by examining some of its samples
images          encodes images
snapshot        copies samples that an iterator may overwrite
layout          the common structure of all samples
hugging_face    support for Hugging Face's library `datasets`
messages        messages to the program over a socket
serve           answers the program's requests for samples
worker_pool     starts worker processes, or a thread of this process, to serve samples
worker_process  the main function of a worker process
"""
